package postgresstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

const (
	// A lapse is one row: the sessions that hold the wanted keys and have expired. Whoever sees one
	// first marks it; a row that is locked is being renewed, or lapsed by another. One that ends later than
	// its TTL from now was renewed before the server's clock was set back: its holder has that long, and no more.
	sqlLapse = `WITH ` + settled + `, e AS MATERIALIZED (
		SELECT s.id FROM {s}.session s, f
		WHERE s.fleet = $1 AND s.lapsed_in IS NULL AND (s.expires_at <= clock_timestamp() OR ` + tooFar + `)
			AND s.id IN (SELECT l.session FROM {s}.lease l WHERE l.fleet = $1 AND l.key = ANY($2::text[]))
		ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED)
		UPDATE {s}.session s SET lapsed_in = CASE WHEN s.expires_at <= clock_timestamp() THEN f.incarnation END,
			expires_at = least(s.expires_at, clock_timestamp() + s.ttl_ms * interval '1 millisecond') FROM f
		WHERE s.fleet = $1 AND s.id = ANY(ARRAY(SELECT id FROM e)) AND s.lapsed_in IS NULL AND (s.expires_at <= clock_timestamp() OR ` + tooFar + `)`
	tooFar = `s.expires_at > clock_timestamp() + s.ttl_ms * interval '1 millisecond'`
	// The first lease of a key. Two first grants of one key meet at the primary key; the order of
	// keys keeps them from waiting for each other crosswise.
	sqlInsert = `WITH ` + settled + `, ` + me + `
		INSERT INTO {s}.lease (fleet, key, token, session, incarnation, since)
		SELECT $1, w.key, greatest(f.token_floor + 1, {us:c.now}), $2, f.incarnation, c.now
		FROM unnest($3::text[]) w(key), f, me, (SELECT clock_timestamp() AS now) c
		WHERE NOT EXISTS (SELECT FROM {s}.lease l WHERE l.fleet = $1 AND l.key = ANY($3::text[]) AND l.key = w.key)
		ORDER BY w.key COLLATE "C"
		ON CONFLICT DO NOTHING`
	// wanted reads how the keys stand, one row for each and at least one. A session that is
	// lapsed, absent or of another incarnation holds nothing.
	wanted = ` LEFT JOIN me ON true LEFT JOIN unnest($3::text[]) w(key) ON true
		LEFT JOIN {s}.lease l ON l.fleet = $1 AND l.key = ANY($3::text[]) AND l.key = w.key
		LEFT JOIN {s}.session o ON o.fleet = $1 AND o.id = l.session AND o.lapsed_in IS NULL AND l.incarnation = f.incarnation`
	standing = `me.owner, w.key, l.session = $2 AND o.id IS NOT NULL AND l.revoked_until IS NULL, l.token, {us:l.since},
		o.owner, {us:least(o.expires_at, l.revoked_until) - clock_timestamp()}, l.key IS NULL, o.id IS NOT NULL`
	// A lease is free where it names no session, one that is seen to be lapsed, or counts in an
	// earlier incarnation; never because its session is absent: a lease row that changed under the
	// lock is checked again beside the statement's old view of the sessions. FOR UPDATE is what a
	// fence's FOR KEY SHARE keeps out, and SKIP LOCKED keeps a waiter from queueing behind it.
	sqlGrant = `WITH ` + settled + `, ` + me + `, k AS MATERIALIZED (
		SELECT l.key, o.owner, {us:clock_timestamp() - o.expires_at} AS ago,
			o.lapsed_in IS NOT NULL AND o.ttl_ms > 0 AND l.incarnation = f.incarnation AND l.revoked_until IS NULL AS lapsed FROM f CROSS JOIN me CROSS JOIN {s}.lease l LEFT JOIN {s}.session o ON o.fleet = l.fleet AND o.id = l.session
		WHERE l.fleet = $1 AND l.key = ANY($3::text[])
			AND (l.session IS NULL OR l.incarnation <> f.incarnation OR o.lapsed_in IS NOT NULL OR l.revoked_until <= clock_timestamp())
		ORDER BY l.key FOR UPDATE OF l SKIP LOCKED), u AS (
		UPDATE {s}.lease l SET token = greatest(l.token + 1, {us:c.now}), session = $2, incarnation = f.incarnation,
			since = c.now, revoked_until = NULL
		FROM f, (SELECT clock_timestamp() AS now) c WHERE l.fleet = $1 AND l.key = ANY(ARRAY(SELECT key FROM k)) RETURNING l.key, l.token, {us:l.since} AS since)
		SELECT f.incarnation, 0, u.token, u.since, ` + standing + `, k.owner, k.ago
		FROM f` + wanted + ` LEFT JOIN u ON u.key = w.key LEFT JOIN k ON k.key = u.key AND k.lapsed`
	// The same question without a grant, for a freeze.
	sqlStanding = `WITH f AS MATERIALIZED (SELECT incarnation, {us:frozen_until - clock_timestamp()} AS left_us FROM {s}.fleet
			WHERE fleet = $1 AND NOT thawed AND life = {life} AND frozen_until > clock_timestamp()), ` + me + `
		SELECT f.incarnation, f.left_us, NULL::bigint, NULL::bigint, ` + standing + `, NULL, NULL::bigint FROM f` + wanted
)

const (
	// chunk is how many keys one message carries: it bounds how long row locks and memory are held.
	chunk = 500
	// busyRetry is when another look at a key makes sense whose row was only locked.
	busyRetry = 100 * time.Millisecond
)

var (
	errParts   = errors.New("the parts of the call were answered in different incarnations; repeat it")
	errNotYet  = errors.New("the session is not known in the new incarnation: renew it first")
	errNoState = errors.New("unexpected answer: no row")
)

// Acquire implements lease.Manager. It answers in the order of keys.
func (s *Store) Acquire(ctx context.Context, sess lease.Session, keys []string) (lease.Grant, error) {
	if err := s.check(sess); err != nil {
		return lease.Grant{}, err
	}
	for _, key := range keys {
		if err := lease.CheckKey(key); err != nil {
			return lease.Grant{}, err
		}
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	var all lease.Grant
	for first := true; first || len(keys) > 0; first = false {
		part := keys[:min(chunk, len(keys))]
		keys = keys[len(part):]
		g, err := s.acquire(ctx, sess, part)
		if err != nil {
			return lease.Grant{}, err
		}
		if !first && g.Incarnation.Number != all.Incarnation.Number {
			return lease.Grant{}, unavailable("acquire", errParts)
		}
		all.Leases = append(all.Leases, g.Leases...)
		all.Refused = append(all.Refused, g.Refused...)
		all.Lapses = append(all.Lapses, g.Lapses...)
		all.Incarnation = g.Incarnation
	}
	s.tidy(ctx)
	return all, nil
}

// answer is how one key stands after a statement.
type answer struct {
	lease.Lease
	mine   bool // granted now, or held before
	absent bool // the key has no row yet
	held   bool // by a session that is not marked as lapsed
	left   time.Duration
	lapse  lease.Lapse // of the term before a grant; no owner: it did not lapse, or nobody knows
}

// acquire decides one chunk. Most keys have a row that is free or held, and one statement decides
// them; the others need rows, or a session marked as lapsed or brought to its time, and a second message.
func (s *Store) acquire(ctx context.Context, sess lease.Session, keys []string) (g lease.Grant, err error) {
	const op = "acquire"
	fast := func() (bool, error) {
		g = lease.Grant{}
		ok, answers, err := s.ask(ctx, op, sess, keys, s.q.grant, &g.Incarnation)
		if !ok || err != nil {
			return ok, err
		}
		var open []string
		for _, a := range answers {
			if !a.mine && (a.absent || a.held && (a.left <= 0 || a.left > s.cfg.MaxTTL)) {
				open = append(open, a.Key)
			}
		}
		if len(open) > 0 {
			second := lease.Incarnation{}
			ok, more, err := s.ask(ctx, op, sess, open, s.q.grant, &second,
				stmt{sql: s.q.lapse, args: [][]byte{text(s.fleet), textArray(open)}},
				stmt{sql: s.q.insert, args: [][]byte{text(s.fleet), text(sess.ID), textArray(open)}})
			if !ok || err != nil {
				return ok, err // a repeated call finds the leases of the first part
			}
			if second.Number != g.Incarnation.Number {
				return false, unavailable(op, errParts)
			}
			answers = merge(answers, more)
		}
		fillGrant(&g, answers)
		return true, nil
	}
	frozen := func() (bool, error) {
		g = lease.Grant{}
		ok, answers, err := s.ask(ctx, op, sess, keys, s.q.standing, &g.Incarnation)
		if ok && err == nil {
			fillGrant(&g, answers)
		}
		return ok, err
	}
	err = s.follow(ctx, op, s.bulk, fast, frozen)
	return g, err
}

// ask sends a grant statement after others and reads how the keys stand. It answers false where
// the marker is in another state.
func (s *Store) ask(ctx context.Context, op string, sess lease.Session, keys []string, sql string, in *lease.Incarnation, before ...stmt) (bool, []answer, error) {
	args := [][]byte{text(s.fleet), text(sess.ID), textArray(keys)}
	results, err := s.run(ctx, call{op: op, lane: s.bulk, stmts: append(before, stmt{sql: sql, args: args}), once: true})
	if err != nil {
		return false, nil, err
	}
	rows := results[len(results)-1]
	if len(rows) == 0 {
		return false, nil, nil
	}
	answers := make([]answer, 0, len(rows))
	for _, row := range rows {
		c := cells{row: row}
		*in = lease.Incarnation{Number: uint64(c.int()), FrozenFor: micros(c.int())}
		token, granted := c.maybeInt()
		since, alive := c.int(), c.next()
		a := answer{Lease: lease.Lease{Key: c.text()}, mine: c.bool() || granted}
		oldToken, oldSince := c.int(), c.int()
		owner, left := c.text(), micros(c.int())
		a.absent, a.held, a.left = c.bool(), c.bool(), left
		a.lapse = lease.Lapse{Key: a.Key, Owner: instance.ID(c.text()), Ago: max(0, micros(c.int()))}
		switch {
		case c.err != nil:
			return false, nil, unavailable(op, c.err)
		case alive == nil && in.FrozenFor > 0:
			return false, nil, unavailable(op, errNotYet)
		case alive == nil:
			return false, nil, lease.ErrSessionLapsed
		case len(keys) == 0:
			return true, nil, nil
		case granted:
			a.Token, a.GrantedAt, a.Owner = uint64(token), time.UnixMicro(since).UTC(), sess.Owner
		default:
			a.Token, a.GrantedAt, a.Owner = uint64(oldToken), time.UnixMicro(oldSince).UTC(), instance.ID(owner)
		}
		a.Session = sess.ID
		answers = append(answers, a)
	}
	slices.SortFunc(answers, byKey)
	return true, answers, nil
}

// fillGrant sorts the answers into granted and refused.
func fillGrant(g *lease.Grant, answers []answer) {
	for _, a := range answers {
		switch {
		case a.mine:
			g.Leases = append(g.Leases, a.Lease)
			if a.lapse.Owner != "" {
				g.Lapses = append(g.Lapses, a.lapse)
			}
		case g.Incarnation.FrozenFor > 0:
			g.Refused = append(g.Refused, lease.Refusal{Key: a.Key, Busy: true, RetryAfter: g.Incarnation.FrozenFor})
		case a.held && a.left > 0:
			g.Refused = append(g.Refused, lease.Refusal{Key: a.Key, Owner: a.Owner, RetryAfter: a.left})
		default:
			g.Refused = append(g.Refused, lease.Refusal{Key: a.Key, Busy: true, RetryAfter: busyRetry})
		}
	}
}
