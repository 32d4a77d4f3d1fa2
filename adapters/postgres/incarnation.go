package postgresstore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/lease"
)

const (
	sqlState = `SELECT incarnation, system = {system} AND life = {life}, thawed, {us:frozen_until - clock_timestamp()} FROM {s}.fleet WHERE fleet = $1`
	// Several processes find the new life of the server at once; the first begins the incarnation.
	sqlBegin = `INSERT INTO {s}.fleet AS f (fleet, incarnation, system, life, frozen_until, thawed)
		VALUES ($1, {us:clock_timestamp()}, {system}, {life}, clock_timestamp() + $2::bigint * interval '1 microsecond', false)
		ON CONFLICT (fleet) DO UPDATE SET incarnation = greatest(f.incarnation + 1, excluded.incarnation), system = excluded.system, life = excluded.life,
			frozen_until = clock_timestamp() + $2::bigint * interval '1 microsecond', thawed = false
		WHERE (f.system, f.life) <> (excluded.system, excluded.life)`
	// It waits for the re-assertions that hold the marker FOR SHARE: once it commits, every grant
	// sees them all.
	sqlThaw = `UPDATE {s}.fleet SET thawed = true
		WHERE fleet = $1 AND NOT thawed AND life = {life} AND frozen_until <= clock_timestamp()`
	sqlProvision = `INSERT INTO {s}.fleet (fleet, incarnation, system, life, frozen_until, thawed)
		VALUES ($1, {us:clock_timestamp()}, {system}, {life}, clock_timestamp(), true) ON CONFLICT DO NOTHING`
)

// Provision implements lease.Provisioner: it says that this fleet is new, so that its first start
// waits for nobody. On a fleet that exists it changes nothing.
func (s *Store) Provision(ctx context.Context) error {
	_, err := s.run(ctx, call{op: "provision", lane: s.bulk, stmts: []stmt{{sql: s.q.provision, args: [][]byte{text(s.fleet)}}}})
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
// another server life's or missing, and ends a freeze whose time is up.
func (s *Store) settle(ctx context.Context, op string, l lane) (lease.Incarnation, error) {
	for range turns {
		rows, err := s.run(ctx, call{op: op, lane: l, stmts: []stmt{{sql: s.q.state, args: [][]byte{text(s.fleet)}}}})
		if err != nil {
			return lease.Incarnation{}, err
		}
		next := stmt{sql: s.q.begin, args: [][]byte{text(s.fleet), number(s.cfg.MaxTTL.Microseconds())}}
		if len(rows[0]) > 0 {
			c := cells{row: rows[0][0]}
			in, current, thawed, left := lease.Incarnation{Number: uint64(c.int())}, c.bool(), c.bool(), micros(c.int())
			switch {
			case c.err != nil:
				return in, unavailable(op, c.err)
			case current && thawed:
				return in, nil
			case current && left > 0:
				in.FrozenFor = left
				return in, nil
			case current:
				next = stmt{sql: s.q.thaw, args: [][]byte{text(s.fleet)}}
			}
		}
		if next.sql == s.q.begin {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "tenure: the server was restarted or replaced, or the fleet is new: grants are frozen",
				slog.String("fleet", s.fleet), slog.Duration("for", s.cfg.MaxTTL))
		}
		if _, err := s.run(ctx, call{op: op, lane: l, stmts: []stmt{next}}); err != nil {
			return lease.Incarnation{}, err
		}
	}
	return lease.Incarnation{}, unavailable(op, errRestless)
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// us is a lifetime in the store's unit, rounded up.
func us(d time.Duration) []byte {
	return number(int64((d + time.Microsecond - 1) / time.Microsecond))
}
