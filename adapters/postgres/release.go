package postgresstore

import (
	"context"
	"errors"

	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

const (
	// The rows are locked in the order of keys, as everywhere. A lock for no key update lets the
	// holder's own open fences be: the next grant waits for those. IS NOT DISTINCT FROM keeps the
	// planner off the index by session, which finds all that the session holds instead of the few. Whether
	// any of them was not free before is left in a setting, where the hint behind the commit finds it: so
	// the hint needs no trip of its own.
	sqlRelease = `WITH k AS MATERIALIZED (
		SELECT l.key, l.incarnation, l.revoked_until FROM {s}.lease l JOIN (SELECT DISTINCT key, token FROM unnest($3::text[], $4::bigint[]) r(key, token)) w
			ON l.key = w.key AND l.token = w.token
		WHERE l.fleet = $1 AND l.key = ANY($3::text[]) AND l.session IS NOT DISTINCT FROM $2 ORDER BY l.key FOR NO KEY UPDATE OF l), u AS (
		UPDATE {s}.lease l SET session = NULL, revoked_until = NULL, since = clock_timestamp()
		WHERE l.fleet = $1 AND l.key = ANY(ARRAY(SELECT key FROM k)) RETURNING 1)
		SELECT set_config('tenure.freed', (EXISTS (SELECT FROM k l, {s}.fleet f, {s}.session s WHERE f.fleet = $1 AND s.fleet = $1 AND s.id = $2 AND ` + holds + `))::text, false)
		FROM (SELECT count(*) FROM u) done`
	sqlNotifyFreed = `SELECT pg_notify($1, $2) WHERE current_setting('tenure.freed', true) = 'true'`
	// The session first, then the lease. The renewals that are counted until now decide when the key is free.
	sqlRevoke = `WITH ` + present + `, h AS MATERIALIZED (
		SELECT s.id, s.expires_at FROM f, {s}.session s WHERE s.fleet = $1 AND s.lapsed_in IS NULL AND s.expires_at > clock_timestamp()
			AND s.id = (SELECT l.session FROM {s}.lease l, f WHERE l.fleet = $1 AND l.key = $2 AND l.revoked_until IS NULL AND l.incarnation = f.incarnation)
		FOR NO KEY UPDATE OF s), r AS (
		UPDATE {s}.lease l SET revoked_until = h.expires_at FROM h
		WHERE l.fleet = $1 AND l.key = $2 AND l.session = h.id AND l.revoked_until IS NULL RETURNING l.session), u AS (
		UPDATE {s}.session s SET revision = s.revision + 1 FROM r WHERE s.fleet = $1 AND s.id = r.session RETURNING 1)
		SELECT EXISTS (SELECT FROM f), EXISTS (SELECT FROM h) AND NOT EXISTS (SELECT FROM r) FROM (SELECT count(*) FROM u) done`
	sqlLeases = `WITH ` + present + `
		SELECT l.key, s.owner, l.session, l.token, {us:l.since}
		FROM f, {s}.lease l JOIN {s}.session s ON s.fleet = l.fleet AND s.id = l.session
		WHERE l.fleet = $1 AND ` + holds + `
		ORDER BY l.key`
)

// Release implements lease.Manager.
func (s *Store) Release(ctx context.Context, sess lease.Session, leases []lease.Lease) error {
	if err := s.check(sess, leases...); err != nil {
		return err
	}
	for len(leases) > 0 {
		part := leases[:min(chunk, len(leases))]
		leases = leases[len(part):]
		change := lease.Change{Kind: lease.ChangeReleased}
		if len(part) == 1 {
			change.Key = part[0].Key
		}
		keys, tokens, _ := columns(part)
		args := [][]byte{text(s.fleet), text(sess.ID), textArray(keys), numberArray(tokens)}
		hint := s.hint(change)
		hint.sql = sqlNotifyFreed
		if _, err := s.run(ctx, call{op: "release", lane: s.steady, stmts: []stmt{{sql: s.q.release, args: args}}, hint: hint}); err != nil {
			return err
		}
	}
	return nil
}

var errMoving = errors.New("the key kept changing hands; repeat the call")

// Revoke implements lease.Revoker.
func (s *Store) Revoke(ctx context.Context, key string) error {
	if err := lease.CheckKey(key); err != nil {
		return err
	}
	for range turns {
		rows, err := s.run(ctx, call{op: "revoke", lane: s.bulk,
			stmts: []stmt{{sql: s.q.revoke, args: [][]byte{text(s.fleet), text(key)}}},
			hint:  s.hint(lease.Change{Kind: lease.ChangeRevoked, Key: key})})
		if err != nil {
			return err
		}
		if len(rows[0]) == 0 {
			return unavailable("revoke", errNoState)
		}
		c := cells{row: rows[0][0]}
		settled, moved := c.bool(), c.bool()
		if settled && !moved {
			return nil
		}
		if !settled {
			if _, err := s.settle(ctx, "revoke", s.bulk); err != nil {
				return err
			}
		}
	}
	return unavailable("revoke", errMoving)
}

// Leases implements lease.Lister.
func (s *Store) Leases(ctx context.Context) ([]lease.Lease, error) {
	rows, err := s.run(ctx, call{op: "list leases", lane: s.bulk, stmts: []stmt{{sql: s.q.leases, args: [][]byte{text(s.fleet)}}}})
	if err != nil {
		return nil, err
	}
	held := make([]lease.Lease, 0, len(rows[0]))
	for _, row := range rows[0] {
		c := cells{row: row}
		l := lease.Lease{Key: c.text(), Owner: instance.ID(c.text()), Session: c.text(), Token: uint64(c.int()), GrantedAt: time.UnixMicro(c.int()).UTC()}
		if c.err != nil {
			return nil, unavailable("list leases", c.err)
		}
		held = append(held, l)
	}
	return held, nil
}
