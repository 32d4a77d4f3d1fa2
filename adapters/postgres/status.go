package postgresstore

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

const (
	// One row extends all of an owner's records. What died with an earlier life stays dead: records
	// written before born_at do not count.
	sqlStatusLife = `INSERT INTO {s}.status_owner AS o (fleet, owner, born_at, expires_at) VALUES ($1, $2, clock_timestamp(), ` + ttl + `)
		ON CONFLICT (fleet, owner) DO UPDATE SET expires_at = excluded.expires_at,
			born_at = CASE WHEN o.expires_at > clock_timestamp() THEN o.born_at ELSE excluded.born_at END`
	statusLives = `EXISTS (SELECT FROM {s}.status_owner o WHERE o.fleet = t.fleet AND o.owner = t.owner
		AND o.expires_at > clock_timestamp() AND t.written_at >= o.born_at)`
	sqlStatusPut = `INSERT INTO {s}.status AS t (fleet, key, token, owner, state, name, info, since, written_at)
		SELECT $1, w.key, w.token, $2, w.state, w.name, w.info, n.now, n.now
		FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[]) w(key, token, state, name, info),
			(SELECT greatest(clock_timestamp(), born_at) AS now FROM {s}.status_owner WHERE fleet = $1 AND owner = $2) n
		ORDER BY w.key COLLATE "C"
		ON CONFLICT (fleet, key) DO UPDATE SET token = excluded.token, owner = excluded.owner, state = excluded.state,
			name = excluded.name, info = excluded.info, written_at = excluded.written_at,
			since = CASE WHEN t.token = excluded.token AND t.state = excluded.state AND ` + statusLives + ` THEN t.since ELSE excluded.since END
		WHERE t.token < excluded.token OR t.token = excluded.token AND t.owner = excluded.owner OR NOT ` + statusLives
	sqlStatusesAll = `WITH c AS MATERIALIZED (SELECT clock_timestamp() AS now)
		SELECT t.key, t.name, t.state, t.owner, t.token, t.info, {us:t.since}, {us:o.expires_at - c.now}
		FROM c, {s}.status t JOIN {s}.status_owner o ON o.fleet = t.fleet AND o.owner = t.owner
		WHERE t.fleet = $1 AND o.expires_at > c.now AND t.written_at >= o.born_at ORDER BY t.key`
	sqlStatuses = `WITH c AS MATERIALIZED (SELECT clock_timestamp() AS now)
		SELECT t.key, t.name, t.state, t.owner, t.token, t.info, {us:t.since}, {us:o.expires_at - c.now}
		FROM c, {s}.status t JOIN {s}.status_owner o ON o.fleet = t.fleet AND o.owner = t.owner
		WHERE t.fleet = $1 AND t.key = ANY($2::text[]) AND o.expires_at > c.now AND t.written_at >= o.born_at ORDER BY t.key`
)

// PutStatus implements status.Store.
func (s *Store) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	if err := status.Check(owner, ttl, records); err != nil {
		return err
	}
	for _, r := range records {
		if r.Token > math.MaxInt64 {
			return invalid("status token", fmt.Sprint(r.Token), "must be a token that a store granted, below 2^63")
		}
	}
	records = last(records)
	for first := true; first || len(records) > 0; first = false {
		part := records[:min(chunk, len(records))]
		records = records[len(part):]
		stmts := []stmt{{sql: s.q.statusLife, args: [][]byte{text(s.fleet), text(string(owner)), us(ttl)}}}
		if len(part) > 0 {
			stmts = append(stmts, stmt{sql: s.q.statusPut, args: s.statusColumns(owner, part)})
		}
		if _, err := s.run(ctx, call{op: "put status", lane: s.steady, stmts: stmts, unawaited: lastWords(part)}); err != nil {
			return err
		}
	}
	return nil
}

// lastWords reports whether all of these are of work that has ended. Nobody waits for the disk then: a release
// follows, and once its commit is there, so is everything before it. What a crash takes in between is
// restated or lapses.
func lastWords(records []status.Record) bool {
	for _, r := range records {
		if r.State != status.Inactive {
			return false
		}
	}
	return len(records) > 0
}

// last keeps one record of each key, the one that would be left had they been written one by one.
func last(records []status.Record) []status.Record {
	at := make(map[string]int, len(records))
	kept := make([]status.Record, 0, len(records))
	for _, r := range records {
		i, dup := at[r.Key]
		switch {
		case !dup:
			at[r.Key] = len(kept)
			kept = append(kept, r)
		case r.Token >= kept[i].Token:
			kept[i] = r
		}
	}
	return kept
}

func (s *Store) statusColumns(owner instance.ID, records []status.Record) [][]byte {
	n := len(records)
	keys, states, names, infos := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	tokens := make([]int64, n)
	for i, r := range records {
		keys[i], states[i], names[i], infos[i], tokens[i] = r.Key, string(r.State), r.Name, r.Info, asToken(r.Token)
	}
	return [][]byte{text(s.fleet), text(string(owner)), textArray(keys), numberArray(tokens), textArray(states), textArray(names), textArray(infos)}
}

// Statuses implements status.Store.
func (s *Store) Statuses(ctx context.Context, keys []string) ([]status.Record, error) {
	for _, key := range keys {
		if err := lease.CheckKey(key); err != nil {
			return nil, err
		}
	}
	return s.readStatuses(ctx, stmt{sql: s.q.statuses, args: [][]byte{text(s.fleet), textArray(keys)}})
}

// AllStatuses implements status.Store.
func (s *Store) AllStatuses(ctx context.Context) ([]status.Record, error) {
	return s.readStatuses(ctx, stmt{sql: s.q.statusesAll, args: [][]byte{text(s.fleet)}})
}

func (s *Store) readStatuses(ctx context.Context, q stmt) ([]status.Record, error) {
	rows, err := s.run(ctx, call{op: "read statuses", lane: s.bulk, stmts: []stmt{q}})
	if err != nil {
		return nil, err
	}
	records := make([]status.Record, 0, len(rows[0]))
	for _, row := range rows[0] {
		c := cells{row: row}
		r := status.Record{Key: c.text(), Name: c.text(), State: status.State(c.text()), Owner: instance.ID(c.text()),
			Token: uint64(c.int()), Info: c.text(), Since: time.UnixMicro(c.int()).UTC(), TTLLeft: micros(c.int())}
		if c.err != nil {
			return nil, unavailable("read statuses", c.err)
		}
		records = append(records, r)
	}
	return records, nil
}
