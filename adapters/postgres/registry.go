package postgresstore

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

const (
	// lives says that the stored member is alive at this heartbeat. A dead row is as good as none:
	// its join time and its drain mark died with it.
	lives = `m.expires_at > excluded.expires_at - $3::bigint * interval '1 microsecond'`
	// A heartbeat that tells nothing new moves no column of an index and not rev: a HOT update.
	sqlBeat = `WITH old AS (SELECT rev FROM {s}.member WHERE fleet = $1 AND id = $2 AND expires_at > clock_timestamp()), i AS (
		INSERT INTO {s}.member AS m (fleet, id, expires_at, joined_at, rev, draining, leaving, description, ttl_us)
		VALUES ($1, $2, ` + ttl + `, coalesce(timestamptz 'epoch' + $4::bigint * interval '1 microsecond', clock_timestamp()),
			` + nowUS + `, $5::boolean, $6::boolean, $7, $3::bigint)
		ON CONFLICT (fleet, id) DO UPDATE SET
			joined_at = CASE WHEN ` + lives + ` THEN m.joined_at ELSE excluded.joined_at END,
			rev = CASE WHEN ` + lives + ` AND m.draining >= excluded.draining AND m.leaving = excluded.leaving
				AND m.description = excluded.description THEN m.rev ELSE greatest(m.rev + 1, excluded.rev) END,
			draining = excluded.draining OR m.draining AND ` + lives + `,
			leaving = excluded.leaving, description = excluded.description, expires_at = excluded.expires_at, ttl_us = excluded.ttl_us
		RETURNING rev)
		SELECT i.rev IS DISTINCT FROM old.rev FROM i LEFT JOIN old ON true`
	// The generation is a digest of who is alive and when each was last different, so that nobody
	// counts, nobody waits for a counter's row, and an expiry moves it by itself. It says as well whether anybody is to
	// live for longer than his own TTL.
	sqlView = `WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now), live AS MATERIALIZED (
		SELECT m.*, {us:m.expires_at - t.now} AS left_us FROM {s}.member m, t WHERE m.fleet = $1 AND m.expires_at > t.now), g AS (
		SELECT coalesce(nullif(mod(sum(hashtextextended(id, rev)), 9223372036854775807), 0), 1)::bigint AS gen,
			min(left_us) FILTER (WHERE id <> $2) AS next_us, bool_or(left_us > ttl_us) IS TRUE AS far FROM live)
		SELECT g.gen, g.next_us, g.far, m.id, {us:m.joined_at}, m.draining, m.leaving, m.left_us, m.description
		FROM g LEFT JOIN live m ON g.gen IS DISTINCT FROM $3::bigint OR m.id = $2
		ORDER BY m.joined_at, m.id`
	// The clock was set back: a member that has died meanwhile would stay for as long.
	sqlLives = `UPDATE {s}.member SET expires_at = clock_timestamp() + ttl_us * interval '1 microsecond'
		WHERE fleet = $1 AND id = ANY(ARRAY(SELECT id FROM {s}.member WHERE fleet = $1
			AND expires_at > clock_timestamp() + ttl_us * interval '1 microsecond' ORDER BY id FOR UPDATE SKIP LOCKED))`
	sqlBeginDrain = `UPDATE {s}.member SET draining = true, rev = greatest(rev + 1, ` + nowUS + `)
		WHERE fleet = $1 AND id = $2 AND NOT draining AND expires_at > clock_timestamp()`
	sqlLeave = `DELETE FROM {s}.member WHERE fleet = $1 AND id = $2`
)

// Heartbeat implements registry.Registry: one message, two statements, so that the view has the
// heartbeat in it.
func (s *Store) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (registry.View, error) {
	if err := registry.Check(self, ttl); err != nil {
		return registry.View{}, err
	}
	var joined []byte // NULL: the server's time
	if !self.JoinedAt.IsZero() {
		if self.JoinedAt.Year() > 9999 {
			return registry.View{}, invalid("join time", fmt.Sprint(self.JoinedAt), "must be a time that the store answered")
		}
		joined = number(self.JoinedAt.UnixMicro())
	}
	description, err := json.Marshal(self.Instance)
	if err != nil {
		return registry.View{}, invalid("instance", string(self.Instance.ID), "must be valid JSON: "+err.Error())
	}
	id := text(string(self.Instance.ID))
	beat := [][]byte{text(s.fleet), id, us(ttl), joined, boolean(self.Draining), boolean(self.Leaving), description}
	rows, err := s.run(ctx, call{op: "heartbeat", lane: s.steady,
		stmts: []stmt{{sql: s.q.beat, args: beat}, {sql: s.q.view, args: [][]byte{text(s.fleet), id, generation(known)}}}})
	if err != nil {
		return registry.View{}, err
	}
	if len(rows[0]) == 0 {
		return registry.View{}, unavailable("heartbeat", errNoState)
	}
	v, far, err := readView(rows[1], self.Instance.ID, known)
	if far {
		s.shorten(ctx)
	}
	if c := (cells{row: rows[0][0]}); err == nil && c.bool() {
		s.tell(ctx, news(v.Self))
	}
	s.tidy(ctx)
	return v, err
}

// news is the hint for a member that others now see differently.
func news(m registry.Member) lease.Change {
	c := lease.Change{Kind: lease.ChangeJoined, Instance: string(m.ID)}
	if m.Draining {
		c.Kind = lease.ChangeDraining
	}
	if m.Leaving {
		c.Kind = lease.ChangeLeft
	}
	return c
}

func generation(g registry.Generation) []byte {
	if g == 0 {
		return nil
	}
	return number(int64(g))
}

// shorten brings lives forward that end too late. Like what is purged it is done again by the next heartbeat.
func (s *Store) shorten(ctx context.Context) {
	if _, err := s.run(ctx, call{op: "shorten lives", lane: s.bulk, stmts: []stmt{{sql: s.q.lives, args: [][]byte{text(s.fleet)}}}}); err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "tenure: members that live too long stay for now; it is tried again later", slog.Any("error", err))
	}
}

// readView reads a view, and whether it has a member in it whose life is too long.
func readView(rows [][][]byte, self instance.ID, known registry.Generation) (v registry.View, far bool, err error) {
	for _, row := range rows {
		c := cells{row: row}
		v.Generation, v.NextExpiry, far = registry.Generation(c.int()), micros(c.int()), c.bool()
		v.Unchanged = known != 0 && known == v.Generation
		id := c.text()
		m := registry.Member{JoinedAt: time.UnixMicro(c.int()).UTC(), Draining: c.bool(), Leaving: c.bool(), TTLLeft: micros(c.int())}
		description := c.next()
		if c.err != nil {
			return registry.View{}, false, unavailable("read members", c.err)
		}
		if id == "" {
			continue
		}
		if err := json.Unmarshal(description, &m.Instance); err != nil {
			return registry.View{}, false, unavailable("read members", fmt.Errorf("member %q: %w", id, err))
		}
		m.ID = instance.ID(id)
		if m.ID == self {
			v.Self = m
			v.Self.Instance = m.Instance.Clone()
		}
		if !v.Unchanged {
			v.Members = append(v.Members, m)
		}
	}
	return v, far, nil
}

// Members implements registry.Registry.
func (s *Store) Members(ctx context.Context) (registry.View, error) {
	rows, err := s.run(ctx, call{op: "list members", lane: s.bulk,
		stmts: []stmt{{sql: s.q.view, args: [][]byte{text(s.fleet), text(""), nil}}}})
	if err != nil {
		return registry.View{}, err
	}
	v, _, err := readView(rows[0], "", 0)
	return v, err
}

// BeginDrain implements registry.Registry.
func (s *Store) BeginDrain(ctx context.Context, id instance.ID) error {
	return s.mark(ctx, "begin drain", s.q.beginDrain, id, lease.ChangeDraining)
}

// Leave implements registry.Registry.
func (s *Store) Leave(ctx context.Context, id instance.ID) error {
	return s.mark(ctx, "leave", s.q.leave, id, lease.ChangeLeft)
}

func (s *Store) mark(ctx context.Context, op, sql string, id instance.ID, kind lease.ChangeKind) error {
	if err := id.Check(); err != nil {
		return err
	}
	_, err := s.run(ctx, call{op: op, lane: s.steady, stmts: []stmt{{sql: sql, args: [][]byte{text(s.fleet), text(string(id))}}},
		hint: s.hint(lease.Change{Kind: kind, Instance: string(id)})})
	return err
}
