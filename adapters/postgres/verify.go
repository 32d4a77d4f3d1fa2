package postgresstore

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/tenure-go/tenure/lease"
)

const (
	sqlVerify = `WITH ` + settled + `, ` + me + `
		SELECT f.incarnation, 0, me.owner, w.ord, NULL::bigint, l.token, l.session = $2, l.incarnation = f.incarnation, l.revoked_until IS NOT NULL
		FROM f LEFT JOIN me ON true LEFT JOIN unnest($3::text[], $4::bigint[]) WITH ORDINALITY w(key, token, ord) ON true
		LEFT JOIN {s}.lease l ON l.fleet = $1 AND l.key = ANY($3::text[]) AND l.key = w.key`
	// While frozen a lease is written again where its record was lost, is of an earlier incarnation,
	// or is a remnant of an earlier term. One that was let go is not written again.
	sqlVerifyFrozen = `WITH ` + frozen + `, ` + me + `, i AS (
		INSERT INTO {s}.lease AS l (fleet, key, token, session, incarnation, since)
		SELECT $1, w.key, w.token, $2, f.incarnation, timestamptz 'epoch' + w.since * interval '1 microsecond'
		FROM f CROSS JOIN me CROSS JOIN (SELECT DISTINCT ON (key COLLATE "C") key, token, since
			FROM unnest($3::text[], $4::bigint[], $5::bigint[]) r(key, token, since) ORDER BY key COLLATE "C", token DESC) w
		LEFT JOIN {s}.lease c ON c.fleet = $1 AND c.key = ANY($3::text[]) AND c.key = w.key
		WHERE w.token > 0 AND (c.key IS NULL OR c.token < w.token
			OR c.token = w.token AND c.session = $2 AND c.revoked_until IS NULL AND c.incarnation <> f.incarnation)
		ORDER BY w.key COLLATE "C"
		ON CONFLICT (fleet, key) DO UPDATE SET token = excluded.token, session = excluded.session, incarnation = excluded.incarnation,
			since = excluded.since, revoked_until = NULL
		WHERE l.token < excluded.token OR l.token = excluded.token AND l.session = excluded.session AND l.revoked_until IS NULL
		RETURNING l.key, l.token)
		SELECT f.incarnation, f.left_us, me.owner, w.ord, i.token, l.token, l.session = $2, l.incarnation = f.incarnation, l.revoked_until IS NOT NULL
		FROM f LEFT JOIN me ON true LEFT JOIN unnest($3::text[], $4::bigint[]) WITH ORDINALITY w(key, token, ord) ON true
		LEFT JOIN {s}.lease l ON l.fleet = $1 AND l.key = ANY($3::text[]) AND l.key = w.key
		LEFT JOIN i ON i.key = w.key AND i.token = w.token`
)

// Verify implements lease.Manager.
func (s *Store) Verify(ctx context.Context, sess lease.Session, leases []lease.Lease) (lease.Verification, error) {
	if err := s.check(sess, leases...); err != nil {
		return lease.Verification{}, err
	}
	var all lease.Verification
	for first := true; first || len(leases) > 0; first = false {
		part := leases[:min(chunk, len(leases))]
		leases = leases[len(part):]
		v, err := s.verify(ctx, sess, part)
		if err != nil {
			return lease.Verification{}, err
		}
		if !first && v.Incarnation.Number != all.Incarnation.Number {
			return lease.Verification{}, unavailable("verify", errParts)
		}
		all.Lost = append(all.Lost, v.Lost...)
		all.Incarnation = v.Incarnation
	}
	return all, nil
}

func (s *Store) verify(ctx context.Context, sess lease.Session, leases []lease.Lease) (v lease.Verification, err error) {
	const op = "verify"
	try := func(sql string, args [][]byte) func() (bool, error) {
		return func() (bool, error) {
			rows, err := s.run(ctx, call{op: op, lane: s.steady, stmts: []stmt{{sql: sql, args: args}}})
			if err != nil || len(rows[0]) == 0 {
				return false, err
			}
			v, err = readVerification(rows[0], leases)
			return err == nil, err
		}
	}
	keys, tokens, since := columns(leases)
	args := [][]byte{text(s.fleet), text(sess.ID), textArray(keys), numberArray(tokens)}
	err = s.follow(ctx, op, s.steady, try(s.q.verify, args), try(s.q.verifyFrozen, append(args[:4:4], numberArray(since))))
	return v, err
}

func readVerification(rows [][][]byte, leases []lease.Lease) (v lease.Verification, err error) {
	for _, row := range rows {
		c := cells{row: row}
		v.Incarnation = lease.Incarnation{Number: uint64(c.int()), FrozenFor: micros(c.int())}
		alive := c.next()
		ord, some := c.maybeInt()
		_, written := c.maybeInt()
		token, known := c.maybeInt()
		mine, counts, revoked := c.bool(), c.bool(), c.bool()
		switch {
		case c.err != nil:
			return v, unavailable("verify", c.err)
		case alive == nil && v.Incarnation.FrozenFor > 0:
			return v, unavailable("verify", errNotYet)
		case alive == nil:
			return v, lease.ErrSessionLapsed
		case !some || written:
			continue
		case ord < 1 || ord > int64(len(leases)):
			return v, unavailable("verify", errNoState)
		}
		l := leases[ord-1]
		same := known && mine && token == asToken(l.Token)
		switch {
		case same && revoked:
			v.Lost = append(v.Lost, lease.Loss{Lease: l, Reason: lease.ReasonRevoked})
		case same && counts:
		case known && counts && !mine && token > asToken(l.Token):
			v.Lost = append(v.Lost, lease.Loss{Lease: l, Reason: lease.ReasonTaken})
		default:
			v.Lost = append(v.Lost, lease.Loss{Lease: l, Reason: lease.ReasonForgotten})
		}
	}
	return v, nil
}

// asToken is a token as the database has it. No token that this store granted is above the
// largest bigint; one that is matches nothing.
func asToken(t uint64) int64 {
	if t > math.MaxInt64 {
		return -1
	}
	return int64(t)
}

func columns(leases []lease.Lease) (keys []string, tokens, since []int64) {
	for _, l := range leases {
		at := l.GrantedAt
		if y := at.Year(); y < 1970 || y > 9999 {
			at = time.Unix(0, 0)
		}
		keys, tokens, since = append(keys, l.Key), append(tokens, asToken(l.Token)), append(since, at.UnixMicro())
	}
	return keys, tokens, since
}

func byKey(a, b answer) int { return strings.Compare(a.Key, b.Key) }

// merge replaces answers by later ones for the same keys; both are in the order of keys.
func merge(answers, later []answer) []answer {
	for i := range answers {
		for len(later) > 0 && later[0].Key < answers[i].Key {
			later = later[1:]
		}
		if len(later) > 0 && later[0].Key == answers[i].Key {
			answers[i], later = later[0], later[1:]
		}
	}
	return answers
}
