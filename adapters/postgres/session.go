package postgresstore

import (
	"context"

	"github.com/tenure-go/tenure/lease"
)

const (
	// Opening a session twice extends it, one that is over is not touched. The marker must know that sessions may
	// live so long: the next freeze lasts for them.
	sqlOpen = `WITH ` + settledFor + `, i AS (
		INSERT INTO {s}.session AS s (fleet, id, owner, expires_at, ttl_ms)
		SELECT $1, $2, $4, ` + ttl + `, ` + msOfTTL + ` FROM f
		ON CONFLICT (fleet, id) DO UPDATE SET expires_at = ` + ttl + `, ttl_ms = excluded.ttl_ms
		WHERE s.lapsed_in IS NULL AND s.expires_at > clock_timestamp()
		RETURNING revision)
		SELECT f.incarnation, 0, i.revision FROM f LEFT JOIN i ON true`
	// While frozen a session that the server forgot, or knows as lapsed from an earlier incarnation,
	// goes on: nobody was granted anything since. What ended in this incarnation stays ended.
	sqlOpenFrozen = `WITH ` + frozen + `, i AS (
		INSERT INTO {s}.session AS s (fleet, id, owner, expires_at, ttl_ms)
		SELECT $1, $2, $4, ` + ttl + `, ` + msOfTTL + ` FROM f
		ON CONFLICT (fleet, id) DO UPDATE SET expires_at = ` + ttl + `, ttl_ms = excluded.ttl_ms, lapsed_in = NULL
		WHERE s.lapsed_in IS DISTINCT FROM (SELECT incarnation FROM f)
		RETURNING revision)
		SELECT f.incarnation, f.left_us, i.revision FROM f LEFT JOIN i ON true`
	// One row, no column of an index: a HOT update, whatever the session holds. The condition is
	// checked again on the row's latest version, so that it and a lapse cannot both win. This short
	// form answers nearly always; where it finds nothing, the long one tells why.
	sqlRenewed = `UPDATE {s}.session s SET expires_at = ` + ttl + `, ttl_ms = ` + msOfTTL + ` FROM {s}.fleet f
		WHERE f.fleet = $1 AND f.thawed AND f.life = {life} AND {durable}
			AND s.fleet = $1 AND s.id = $2 AND s.lapsed_in IS NULL AND s.expires_at > clock_timestamp()
		RETURNING f.incarnation, 0, s.revision`
	sqlRenew = `WITH ` + settled + `, u AS (
		UPDATE {s}.session s SET expires_at = ` + ttl + `, ttl_ms = ` + msOfTTL + `
		FROM f WHERE s.fleet = $1 AND s.id = $2 AND s.lapsed_in IS NULL AND s.expires_at > clock_timestamp()
		RETURNING s.revision)
		SELECT f.incarnation, 0, u.revision FROM f LEFT JOIN u ON true`
	// The leases keep naming the session: a lapsed session's keys are free, so this too is one row. A TTL of 0
	// says that it was closed, and did not run out. The
	// answer says whether that frees anything: what the session holds as the statement begins.
	sqlCloseSession = `WITH ` + present + `, u AS (
		UPDATE {s}.session s SET lapsed_in = f.incarnation, expires_at = least(s.expires_at, clock_timestamp()), ttl_ms = 0
		FROM f WHERE s.fleet = $1 AND s.id = $2 AND s.lapsed_in IS NULL RETURNING 1)
		SELECT EXISTS (SELECT FROM u) AND EXISTS (
			SELECT FROM {s}.session s JOIN {s}.lease l ON l.fleet = s.fleet AND l.session = s.id
			WHERE s.fleet = $1 AND s.id = $2 AND ` + holds + `) FROM f`
)

// check refuses bad arguments before anything is done.
func (s *Store) check(sess lease.Session, leases ...lease.Lease) error {
	if err := sess.Check(); err != nil {
		return err
	}
	for _, l := range leases {
		if err := lease.CheckKey(l.Key); err != nil {
			return err
		}
	}
	return lease.CheckMaxTTL(sess.TTL, s.cfg.MaxTTL)
}

// OpenSession implements lease.Manager.
func (s *Store) OpenSession(ctx context.Context, sess lease.Session) (lease.Incarnation, error) {
	r, err := s.extend(ctx, "open session", s.q.open, sess)
	if err == nil {
		s.tidy(ctx)
	}
	return r.Incarnation, err
}

// Renew implements lease.Manager. It writes one row, whatever the session holds.
func (s *Store) Renew(ctx context.Context, sess lease.Session) (r lease.Renewal, err error) {
	if err := s.check(sess); err != nil {
		return r, err
	}
	if ok, err := s.extendBy(ctx, "renew", s.q.renewed, sess, &r); ok || err != nil {
		return r, err
	}
	return s.extend(ctx, "renew", s.q.renew, sess)
}

func (s *Store) extend(ctx context.Context, op, fast string, sess lease.Session) (r lease.Renewal, err error) {
	if err := s.check(sess); err != nil {
		return r, err
	}
	owner := text(string(sess.Owner))
	var args [][]byte
	if fast == s.q.open {
		args = append(args, owner)
	}
	err = s.follow(ctx, op, s.steady,
		func() (bool, error) { return s.extendBy(ctx, op, fast, sess, &r, args...) },
		func() (bool, error) { return s.extendBy(ctx, op, s.q.openFrozen, sess, &r, owner) })
	return r, err
}

// extendBy sends one statement that extends the session. It answers false where the marker is in
// another state.
func (s *Store) extendBy(ctx context.Context, op, sql string, sess lease.Session, r *lease.Renewal, more ...[]byte) (bool, error) {
	args := append([][]byte{text(s.fleet), text(sess.ID), us(sess.TTL)}, more...)
	rows, err := s.run(ctx, call{op: op, lane: s.steady, stmts: []stmt{{sql: sql, args: args}}, once: true})
	if err != nil || len(rows[0]) == 0 {
		return false, err
	}
	c := cells{row: rows[0][0]}
	in := lease.Incarnation{Number: uint64(c.int()), FrozenFor: micros(c.int())}
	revision, extended := c.maybeInt()
	switch {
	case c.err != nil:
		return false, unavailable(op, c.err)
	case !extended:
		return false, lease.ErrSessionLapsed
	}
	*r = lease.Renewal{Incarnation: in, Revision: uint64(revision)}
	return true, nil
}

// CloseSession implements lease.Manager. It writes one row, whatever the session holds.
func (s *Store) CloseSession(ctx context.Context, sess lease.Session) error {
	if err := s.check(sess); err != nil {
		return err
	}
	freed := false
	try := func() (bool, error) {
		rows, err := s.run(ctx, call{op: "close session", lane: s.steady,
			stmts: []stmt{{sql: s.q.closeSession, args: [][]byte{text(s.fleet), text(sess.ID)}}}})
		if err != nil || len(rows[0]) == 0 {
			return false, err
		}
		freed = (&cells{row: rows[0][0]}).bool()
		return true, nil
	}
	if err := s.follow(ctx, "close session", s.steady, try, try); err != nil {
		return err
	}
	if freed {
		s.tell(ctx, lease.Change{Kind: lease.ChangeReleased})
	}
	return nil
}
