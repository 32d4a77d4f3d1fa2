package scenario

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/bench/internal/rivals"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/status"
)

const (
	rowTenure    = "Tenure"
	rowRawLua    = "Lua with a token, by hand"
	rowRedislock = "redislock"
	rowUpsert    = "upsert with a live-session check, by hand"
)

// pair is Acquire and Release of one key under an open session.
func (h *holding) pair(ctx context.Context) error {
	g, err := h.store.Acquire(ctx, h.sess, []string{"pair"})
	if err != nil {
		return err
	}
	if len(g.Leases) != 1 {
		return errors.New("the free key was refused")
	}
	return h.store.Release(ctx, h.sess, g.Leases)
}

func acquireRedis(ctx context.Context, e *Env, r *lab.Report) error {
	calls := e.size(2000, 500, 5)
	f, err := e.redisFleet(ctx)
	if err != nil {
		return err
	}
	s, end, err := f.open(nil)
	if err != nil {
		return err
	}
	defer end()
	h, err := hold(ctx, s, "", 1)
	if err != nil {
		return err
	}
	defer alive(ctx, h)()
	client := e.redis.Client()
	defer client.Close()
	raw := &rivals.RawRedis{Client: client, Owner: "0123456789abcdef"}
	rueidis, err := rivals.NewRueidislock(e.redis.Addr(), "rueidis-pair")
	if err != nil {
		return err
	}
	defer rueidis.Close()
	t, err := e.Compare(ctx, "Acquire and release of one lease", "ms",
		timed(rowRawLua, lab.Floor, calls, raw.Pair),
		timed(rowTenure, lab.Ours, calls, h.pair),
		timed(rowRedislock, lab.Peer, calls, rivals.NewRedislock(client, "redislock-pair", time.Millisecond).Pair),
		timed("redsync, one pool", lab.Peer, calls, rivals.NewRedsync(client, "redsync-pair", 0).Pair),
		timed("rueidislock, majority 1", lab.Peer, calls, rueidis.Pair))
	if err != nil {
		return err
	}
	r.Note("Two calls, one after the other; medians of %d pairs. Tenure's grant has a fencing token and hangs off a session that lives.", calls)
	r.Tables = append(r.Tables, t)
	r.AtMost("acquire and release of one lease, Redis ÷ redislock", t.Ratio(rowTenure, rowRedislock), 1.3, "×")
	return nil
}

func acquirePostgres(ctx context.Context, e *Env, r *lab.Report) error {
	calls := e.size(1000, 300, 5)
	f, err := e.postgresFleet(ctx)
	if err != nil {
		return err
	}
	s, end, err := f.open(ctx, nil)
	if err != nil {
		return err
	}
	defer end()
	h, err := hold(ctx, s, "", 1)
	if err != nil {
		return err
	}
	defer alive(ctx, h)()
	conn, err := e.postgres.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	raw, err := rivals.NewRawPostgres(ctx, conn, "0123456789abcdef")
	if err != nil {
		return err
	}
	t, err := e.Compare(ctx, "Acquire and release of one lease", "ms",
		timed(rowUpsert, lab.Floor, calls, raw.Pair), timed(rowTenure, lab.Ours, calls, h.pair))
	if err != nil {
		return err
	}
	r.Note("Two synchronous commits, one after the other; medians of %d pairs.", calls)
	r.Tables = append(r.Tables, t)
	r.AtMost("acquire and release of one lease, PostgreSQL ÷ upsert by hand", t.Ratio(rowTenure, rowUpsert), 1.3, "×")
	return nil
}

func startRedis(ctx context.Context, e *Env, r *lab.Report) error {
	return e.start(ctx, r, "Redis", 250, func() (place, error) { return e.redisFleet(ctx) })
}

func startPostgres(ctx context.Context, e *Env, r *lab.Report) error {
	return e.start(ctx, r, "PostgreSQL", 1000, func() (place, error) { return e.postgresFleet(ctx) })
}

const (
	rowKeeper = "Tenure: keeper, until the last lease is granted"
	rowSet    = "Tenure: runners, until the last work runs"
)

// start measures a process that comes up and takes everything, in a new fleet each time.
func (e *Env) start(ctx context.Context, r *lab.Report, store string, limit float64, next func() (place, error)) error {
	n := e.size(10_000, 10_000, 500)
	from := func(name string, run func(context.Context, coordinator.Store) (float64, error)) lab.Contender {
		return lab.Contender{Name: name, Kind: lab.Ours, Round: func(ctx context.Context) (float64, error) {
			f, err := next()
			if err != nil {
				return 0, err
			}
			s, end, err := f.store(ctx, nil)
			if err != nil {
				return 0, err
			}
			defer end()
			return run(ctx, s)
		}}
	}
	t, err := e.Compare(ctx, "From Run until 10 000 keys are held", "ms",
		from(rowKeeper, func(ctx context.Context, s coordinator.Store) (float64, error) { return startKeeper(ctx, s, n) }),
		from(rowSet, func(ctx context.Context, s coordinator.Store) (float64, error) { return startSet(ctx, s, n) }))
	if err != nil {
		return err
	}
	r.Note("%d free keys, a new fleet in every round; connecting and opening the session are in it. The runners also start a goroutine for each workload and publish its status meanwhile.", n)
	r.Tables = append(r.Tables, t)
	r.AtMost("acquire 10 000 free leases at start, "+store, t.Median(rowKeeper), limit, "ms")
	return nil
}

// counting is a claimant that counts grants.
type counting struct {
	left *sync.WaitGroup
}

func (c counting) Granted(*lease.Hold)              { c.left.Done() }
func (counting) Refused(lease.Refusal)              {}
func (counting) Lost(*lease.Hold, *lease.LostError) {}
func (counting) Released(*lease.Hold)               {}

func startKeeper(ctx context.Context, s lease.Manager, n int) (float64, error) {
	k, err := lease.NewKeeper(s, instance.New(), lease.KeeperConfig{})
	if err != nil {
		return 0, err
	}
	var left sync.WaitGroup
	left.Add(n)
	for _, key := range keysOf(n) {
		if _, err := k.Claim(key, counting{&left}); err != nil {
			return 0, err
		}
	}
	return untilAll(ctx, &left, k.Run)
}

func startSet(ctx context.Context, s interface {
	lease.Manager
	status.Store
}, n int) (float64, error) {
	set, err := runner.NewSet(s, instance.New(), runner.Config{Status: s})
	if err != nil {
		return 0, err
	}
	var left sync.WaitGroup
	left.Add(n)
	for _, key := range keysOf(n) {
		if err := set.Start(runner.Spec{Key: key, Work: func(ctx context.Context, term *runner.Term) error {
			left.Done()
			return idleWork(ctx, term)
		}}); err != nil {
			return 0, err
		}
	}
	return untilAll(ctx, &left, set.Run)
}

// untilAll runs an engine until everything is held, and then ends it.
func untilAll(ctx context.Context, left *sync.WaitGroup, run func(context.Context) error) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- run(ctx) }()
	left.Wait()
	took := lab.Ms(time.Since(began))
	cancel()
	return took, <-ended
}

// idleWork waits for its end.
func idleWork(ctx context.Context, term *runner.Term) error {
	select {
	case <-term.Draining():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
