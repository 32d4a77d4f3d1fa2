package postgresstore

import (
	"context"
	"log/slog"
	"time"
)

// Dead rows are removed in small batches by whoever comes along. Every row that waits for another
// is passed over, and every deletion is repeated later if it was in the way: none of it matters to anyone.
const (
	purgeEvery = time.Minute
	// firstPurge is when a process purges first: where all of them die young, nobody else would.
	firstPurge = 20 * time.Second
	purgeBatch = "64"
	// deadFor is how long rows are kept that nothing reads any more, for people who look for what happened.
	deadFor = `interval '10 minutes'`

	// Sessions that expired unnoticed, since nobody wanted their keys.
	sqlPurgeLapse = `WITH ` + settled + `, e AS MATERIALIZED (
		SELECT s.id FROM {s}.session s, f WHERE s.fleet = $1 AND s.lapsed_in IS NULL AND s.expires_at <= clock_timestamp()
		ORDER BY s.id LIMIT ` + purgeBatch + ` FOR NO KEY UPDATE OF s SKIP LOCKED)
		UPDATE {s}.session s SET lapsed_in = f.incarnation FROM f
		WHERE s.fleet = $1 AND s.id = ANY(ARRAY(SELECT id FROM e)) AND s.lapsed_in IS NULL AND s.expires_at <= clock_timestamp()`
	// Leases of forgotten workloads still name the session that held them last.
	sqlPurgeNames = `WITH ` + settled + `, k AS MATERIALIZED (
		SELECT l.key FROM f, {s}.lease l JOIN {s}.session s ON s.fleet = l.fleet AND s.id = l.session
		WHERE l.fleet = $1 AND s.lapsed_in IS NOT NULL AND s.expires_at < clock_timestamp() - $2::bigint * interval '1 microsecond'
		ORDER BY l.key LIMIT ` + purgeBatch + ` FOR NO KEY UPDATE OF l SKIP LOCKED)
		UPDATE {s}.lease l SET session = NULL, revoked_until = NULL, since = clock_timestamp()
		WHERE l.fleet = $1 AND l.key = ANY(ARRAY(SELECT key FROM k))`
	// A session is remembered for MaxTTL after its end, so that it cannot be opened again.
	sqlPurgeSessions = `WITH d AS MATERIALIZED (
		SELECT s.id FROM {s}.session s WHERE s.fleet = $1 AND s.lapsed_in IS NOT NULL
			AND s.expires_at < clock_timestamp() - $2::bigint * interval '1 microsecond'
			AND NOT EXISTS (SELECT FROM {s}.lease l WHERE l.fleet = s.fleet AND l.session = s.id)
		ORDER BY s.id LIMIT ` + purgeBatch + ` FOR UPDATE OF s SKIP LOCKED)
		DELETE FROM {s}.session s WHERE s.fleet = $1 AND s.id = ANY(ARRAY(SELECT id FROM d))`
	// The floor takes over the memory of the rows: a key that comes back starts above it, even
	// where the server's clock was set back.
	sqlPurgeLeases = `WITH ` + settled + `, k AS MATERIALIZED (
		SELECT l.key FROM f, {s}.lease l WHERE l.fleet = $1 AND l.session IS NULL
			AND l.since < clock_timestamp() - $2::bigint * interval '1 microsecond'
		ORDER BY l.key LIMIT ` + purgeBatch + ` FOR UPDATE OF l SKIP LOCKED), d AS (
		DELETE FROM {s}.lease l WHERE l.fleet = $1 AND l.key = ANY(ARRAY(SELECT key FROM k)) RETURNING l.token)
		UPDATE {s}.fleet SET token_floor = greatest(token_floor, (SELECT max(token) FROM d))
		WHERE fleet = $1 AND EXISTS (SELECT FROM d)`
	sqlPurgeMembers = `WITH d AS MATERIALIZED (
		SELECT id FROM {s}.member WHERE fleet = $1 AND expires_at < clock_timestamp() - ` + deadFor + `
		ORDER BY id LIMIT ` + purgeBatch + ` FOR UPDATE SKIP LOCKED)
		DELETE FROM {s}.member WHERE fleet = $1 AND id = ANY(ARRAY(SELECT id FROM d))`
	sqlPurgeStatus = `WITH d AS MATERIALIZED (
		SELECT key FROM {s}.status t WHERE fleet = $1 AND written_at < clock_timestamp() - ` + deadFor + ` AND NOT EXISTS (
			SELECT FROM {s}.status_owner o WHERE o.fleet = t.fleet AND o.owner = t.owner
				AND o.expires_at >= clock_timestamp() - ` + deadFor + ` AND t.written_at >= o.born_at)
		ORDER BY key LIMIT ` + purgeBatch + ` FOR UPDATE SKIP LOCKED)
		DELETE FROM {s}.status WHERE fleet = $1 AND key = ANY(ARRAY(SELECT key FROM d))`
	sqlPurgeStatusOwners = `WITH d AS MATERIALIZED (
		SELECT owner FROM {s}.status_owner o WHERE fleet = $1 AND expires_at < clock_timestamp() - ` + deadFor + `
		ORDER BY owner LIMIT ` + purgeBatch + ` FOR UPDATE SKIP LOCKED)
		DELETE FROM {s}.status_owner WHERE fleet = $1 AND owner = ANY(ARRAY(SELECT owner FROM d))`
)

// tidy purges dead rows where nobody in this process did for a minute. It is the tail of a call
// that has succeeded already, so its failure is only logged.
func (s *Store) tidy(ctx context.Context) {
	now := int64(time.Since(s.born))
	was := s.tidied.Load()
	if now-was < int64(purgeEvery) || !s.tidied.CompareAndSwap(was, now) {
		return
	}
	s.purge(ctx)
}

// purge removes one batch of each kind, each in a transaction of its own: no two kinds of locks together.
func (s *Store) purge(ctx context.Context) {
	fleet, maxTTL := text(s.fleet), number(s.cfg.MaxTTL.Microseconds())
	for _, q := range []stmt{
		{sql: s.q.purgeLapse, args: [][]byte{fleet}},
		{sql: s.q.purgeNames, args: [][]byte{fleet, maxTTL}},
		{sql: s.q.purgeSessions, args: [][]byte{fleet, maxTTL}},
		{sql: s.q.purgeLeases, args: [][]byte{fleet, number(s.cfg.ForgetAfter.Microseconds())}},
		{sql: s.q.purgeMembers, args: [][]byte{fleet}},
		{sql: s.q.purgeStatus, args: [][]byte{fleet}},
		{sql: s.q.purgeSO, args: [][]byte{fleet}},
	} {
		if _, err := s.run(ctx, call{op: "purge", lane: s.bulk, stmts: []stmt{q}}); err != nil {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "tenure: purging dead rows failed; it is tried again later", slog.Any("error", err))
			return
		}
	}
}
