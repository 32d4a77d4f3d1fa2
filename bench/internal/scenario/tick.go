package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/tick"
)

// ticking measures what one interval costs the store at several sizes of holdings.
type ticking struct {
	env   *Env
	sizes []int
	calls int
	wire  *lab.Wire
	all   []*holding
	cpu   func() (time.Duration, error)
	admin *pgx.Conn // nil on Redis
}

func tickRedis(ctx context.Context, e *Env, r *lab.Report) error {
	f, err := e.redisFleet(ctx)
	if err != nil {
		return err
	}
	t, end, err := e.ticking(ctx, func() (place, error) { return e.redisFleet(ctx) }, f)
	if err != nil {
		return err
	}
	defer end()
	t.cpu = func() (time.Duration, error) { return lab.CPU(e.redis.PID()) }
	return t.measure(ctx, r, "Redis")
}

func tickPostgres(ctx context.Context, e *Env, r *lab.Report) error {
	f, err := e.postgresFleet(ctx)
	if err != nil {
		return err
	}
	t, end, err := e.ticking(ctx, func() (place, error) { return e.postgresFleet(ctx) }, f)
	if err != nil {
		return err
	}
	defer end()
	t.calls = e.size(100, 50, 5) // each waits for the disk three times
	t.cpu = func() (time.Duration, error) { return lab.BackendCPU(e.postgres.PID()) }
	if t.admin, err = e.postgres.Connect(ctx); err != nil {
		return err
	}
	defer t.admin.Close(context.WithoutCancel(ctx))
	// The tables have grown by a hundred thousand rows at once, which autovacuum would look at in the middle.
	if _, err := t.admin.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	if _, err := t.admin.Exec(ctx, "CHECKPOINT"); err != nil {
		return err
	}
	return t.measure(ctx, r, "PostgreSQL")
}

// ticking prepares an instance for each size, each in a fleet of its own.
func (e *Env) ticking(ctx context.Context, next func() (place, error), first place) (*ticking, func(), error) {
	t := &ticking{env: e, sizes: []int{10, 1000, 100_000}, calls: e.size(500, 100, 5), wire: &lab.Wire{}}
	switch {
	case e.Tiny:
		t.sizes = []int{10, 200, 400}
	case e.Quick:
		t.sizes = []int{10, 1000, 5000}
	}
	var ends []func()
	end := func() {
		for _, f := range ends {
			f()
		}
	}
	for i, n := range t.sizes {
		f := first
		if i > 0 {
			var err error
			if f, err = next(); err != nil {
				end()
				return nil, nil, err
			}
		}
		s, closeStore, err := f.store(ctx, t.wire)
		if err != nil {
			end()
			return nil, nil, err
		}
		ends = append(ends, closeStore)
		e.Say("  taking %d leases", n)
		h, err := hold(ctx, s, "", n)
		if err != nil {
			end()
			return nil, nil, err
		}
		t.all = append(t.all, h)
		ends = append([]func(){alive(ctx, h)}, ends...)
	}
	return t, end, nil
}

func (t *ticking) name(i int) string {
	return fmt.Sprintf("%s leases", lab.Digits(float64(t.sizes[i])))
}

// table measures one thing at all sizes.
func (t *ticking) table(ctx context.Context, title, unit string, measure func(ctx context.Context, tick func() error) (float64, error)) (*lab.Table, error) {
	var cs []lab.Contender
	for i, h := range t.all {
		cs = append(cs, lab.Contender{Name: t.name(i), Kind: lab.Ours, Round: func(ctx context.Context) (float64, error) {
			return measure(ctx, func() error { return h.tick(ctx) })
		}})
		if _, ok := h.store.(tick.Ticker); ok && i == 1 {
			cs = append(cs, lab.Contender{Name: t.name(i) + ", in calls", Kind: lab.Ours, Round: func(ctx context.Context) (float64, error) {
				return measure(ctx, func() error { return h.apart(ctx) })
			}})
		}
	}
	return t.env.Compare(ctx, title, unit, cs...)
}

func (t *ticking) measure(ctx context.Context, r *lab.Report, store string) error {
	n := t.calls
	repeat := func(tick func() error) error {
		for range n {
			if err := tick(); err != nil {
				return err
			}
		}
		return nil
	}
	took, err := t.table(ctx, "Time of an interval's calls", "ms", func(_ context.Context, tick func() error) (float64, error) {
		return lab.MedianOf(n, tick)
	})
	if err != nil {
		return err
	}
	cpu, err := t.table(ctx, "The store's CPU", "µs", func(_ context.Context, tick func() error) (float64, error) {
		before, err := t.cpu()
		if err == nil {
			err = repeat(tick)
		}
		if err != nil {
			return 0, err
		}
		after, err := t.cpu()
		return float64((after - before).Microseconds()) / float64(n), err
	})
	if err != nil {
		return err
	}
	sent, err := t.table(ctx, "Bytes to and from the store", "B", func(_ context.Context, tick func() error) (float64, error) {
		before := t.wire.Bytes()
		err := repeat(tick)
		return float64(t.wire.Bytes()-before) / float64(n), err
	})
	if err != nil {
		return err
	}
	tables := []*lab.Table{took, cpu, sent}
	if t.admin != nil {
		wal, err := t.table(ctx, "WAL", "B", func(ctx context.Context, tick func() error) (float64, error) { return walOf(ctx, t.admin, n, tick) })
		if err != nil {
			return err
		}
		tables = append(tables, wal)
	}
	r.Note("Renew, Verify of the rotating slice of 100, Heartbeat and an extending PutStatus: all that an instance sends per interval (with 10 leases the slice is those). Values are of %d intervals. A store that has tick.Ticker is sent them in one trip, and beside it in four calls, one after another.", n)
	r.Tables = append(r.Tables, tables...)
	first, last := t.name(1), t.name(2) // both verify a whole slice
	for _, table := range tables[1:] {
		r.AtMost(fmt.Sprintf("interval at %s ÷ %s, %s: %s", last, first, store, table.Title), table.Ratio(last, first), 1.3, "×")
	}
	return nil
}
