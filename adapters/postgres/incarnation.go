package postgresstore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/lease"
)

const (
	sqlState = `SELECT incarnation, system = {system} AND life = {life}, thawed, {us:frozen_until - clock_timestamp()}, max_ttl_us FROM {s}.fleet WHERE fleet = $1`
	// Several processes find the new life of the server at once; the first begins the incarnation. It freezes for
	// the longest MaxTTL that was ever named: so long may sessions live that are not known any more.
	sqlBegin = `INSERT INTO {s}.fleet AS f (fleet, incarnation, system, life, frozen_until, thawed, max_ttl_us)
		VALUES ($1, {us:clock_timestamp()}, {system}, {life}, clock_timestamp() + $2::bigint * interval '1 microsecond', false, $2::bigint)
		ON CONFLICT (fleet) DO UPDATE SET incarnation = greatest(f.incarnation + 1, excluded.incarnation), system = excluded.system, life = excluded.life,
			frozen_until = clock_timestamp() + greatest(f.max_ttl_us, $2::bigint) * interval '1 microsecond', thawed = false,
			max_ttl_us = greatest(f.max_ttl_us, $2::bigint)
		WHERE (f.system, f.life) <> (excluded.system, excluded.life)`
	// Somebody who knew a shorter MaxTTL began the incarnation: it freezes for the longer one, counted from then.
	sqlLengthen = `UPDATE {s}.fleet SET max_ttl_us = $2::bigint,
		frozen_until = frozen_until + CASE WHEN thawed THEN 0 ELSE $2::bigint - max_ttl_us END * interval '1 microsecond'
		WHERE fleet = $1 AND life = {life} AND max_ttl_us < $2::bigint`
	// The clock was set back: a freeze is never longer than MaxTTL.
	sqlForward = `UPDATE {s}.fleet SET frozen_until = clock_timestamp() + max_ttl_us * interval '1 microsecond'
		WHERE fleet = $1 AND NOT thawed AND life = {life} AND frozen_until > clock_timestamp() + max_ttl_us * interval '1 microsecond'`
	// It waits for the re-assertions that hold the marker FOR SHARE: once it commits, every grant
	// sees them all.
	sqlThaw = `UPDATE {s}.fleet SET thawed = true
		WHERE fleet = $1 AND NOT thawed AND life = {life} AND frozen_until <= clock_timestamp()`
	sqlProvision = `INSERT INTO {s}.fleet (fleet, incarnation, system, life, frozen_until, thawed, max_ttl_us)
		VALUES ($1, {us:clock_timestamp()}, {system}, {life}, clock_timestamp(), true, $2::bigint) ON CONFLICT DO NOTHING`
)

// Provision implements lease.Provisioner: it says that this fleet is new, so that its first start
// waits for nobody. On a fleet that exists it changes nothing.
func (s *Store) Provision(ctx context.Context) error {
	_, err := s.run(ctx, call{op: "provision", lane: s.bulk, stmts: []stmt{{sql: s.q.provision, args: [][]byte{text(s.fleet), number(s.cfg.MaxTTL.Microseconds())}}}})
	return err
}

// turns bounds how often a call follows the marker from one state to the next.
const turns = 8

var errRestless = errors.New("the server's life kept changing during the call")

// follow makes a call under the fleet's marker. fast is for the settled state and frozen for a
// freeze; each answers false where the marker was in another state, and then has done nothing.
func (s *Store) follow(ctx context.Context, op string, l lane, fast, frozen func() (bool, error)) error {
	for range turns {
		if ok, err := fast(); ok || err != nil {
			return err
		}
		in, err := s.settle(ctx, op, l)
		if err != nil {
			return err
		}
		if in.FrozenFor > 0 {
			if ok, err := frozen(); ok || err != nil {
				return err
			}
		}
	}
	return unavailable(op, errRestless)
}

// settle brings the fleet's marker up to date: it begins an incarnation where the marker is
// another server life's or missing, has a freeze last for as long as it must and no longer, and ends one whose time is up.
func (s *Store) settle(ctx context.Context, op string, l lane) (lease.Incarnation, error) {
	for range turns {
		rows, err := s.run(ctx, call{op: op, lane: l, stmts: []stmt{{sql: s.q.state, args: [][]byte{text(s.fleet)}}}})
		if err != nil {
			return lease.Incarnation{}, err
		}
		next := s.q.begin
		if len(rows[0]) > 0 {
			var in lease.Incarnation
			if in, next, err = s.judge(rows[0][0]); err != nil {
				return in, unavailable(op, err)
			}
			if next == "" {
				return in, nil
			}
		}
		if next == s.q.begin {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "tenure: the server was restarted or replaced, or the fleet is new: grants are frozen",
				slog.String("fleet", s.fleet), slog.Duration("for", s.cfg.MaxTTL))
		}
		args := [][]byte{text(s.fleet)}
		if next != s.q.thaw && next != s.q.forward {
			args = append(args, number(s.cfg.MaxTTL.Microseconds()))
		}
		if _, err := s.run(ctx, call{op: op, lane: l, stmts: []stmt{{sql: next, args: args}}}); err != nil {
			return lease.Incarnation{}, err
		}
	}
	return lease.Incarnation{}, unavailable(op, errRestless)
}

// judge says what the marker needs before it counts: a statement, or nothing.
func (s *Store) judge(row [][]byte) (in lease.Incarnation, next string, err error) {
	c := cells{row: row}
	in.Number = uint64(c.int())
	current, thawed, left, longest := c.bool(), c.bool(), micros(c.int()), micros(c.int())
	switch {
	case c.err != nil:
		return in, "", c.err
	case !current:
		return in, s.q.begin, nil
	case longest < s.cfg.MaxTTL:
		return in, s.q.lengthen, nil
	case thawed:
		return in, "", nil
	case left > longest:
		return in, s.q.forward, nil
	case left > 0:
		in.FrozenFor = left
		return in, "", nil
	}
	return in, s.q.thaw, nil
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// us is a lifetime in the store's unit, rounded up.
func us(d time.Duration) []byte {
	return number(int64((d + time.Microsecond - 1) / time.Microsecond))
}
