package scenario

import (
	"context"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/bench/internal/rivals"
)

const (
	rowRenew    = "Tenure: Renew"
	rowInterval = "Tenure: Renew and the verified slice of 100"
	rowSession  = "bare session record, by hand"
	rowCommit   = "one synchronous COMMIT"
	rowBatch    = "batched Lua by hand, 500 leases a script"
	rowUnnest   = "unnest batch by hand, fillfactor 50"
	rowOneByOne = "redislock, Refresh one by one"
)

// timed is a contender whose value is the median of n calls.
func timed(name string, kind lab.Kind, n int, f func(context.Context) error) lab.Contender {
	return lab.Contender{Name: name, Kind: kind, Round: func(ctx context.Context) (float64, error) {
		return lab.MedianOf(n, func() error { return f(ctx) })
	}}
}

func renewRedis(ctx context.Context, e *Env, r *lab.Report) error {
	n, calls := e.size(10_000, 10_000, 1000), e.size(500, 200, 5)
	f, err := e.redisFleet(ctx)
	if err != nil {
		return err
	}
	s, end, err := f.open(nil)
	if err != nil {
		return err
	}
	defer end()
	h, err := hold(ctx, s, "", n)
	if err != nil {
		return err
	}
	stop := alive(ctx, h)
	defer stop()
	client := e.redis.Client()
	defer client.Close()
	raw := &rivals.RawRedis{Client: client, Owner: "0123456789abcdef0123456789abcdef"}
	if err := raw.Fill(ctx, n); err != nil {
		return err
	}
	refresh, err := rivals.RedislockMany(ctx, client, n)
	if err != nil {
		return err
	}
	t, err := e.Compare(ctx, "One renewal of everything", "ms",
		timed(rowSession, lab.Floor, calls, raw.RenewSession),
		timed(rowRenew, lab.Ours, calls, h.renew),
		timed(rowInterval, lab.Ours, calls, func(ctx context.Context) error {
			if err := h.renew(ctx); err != nil {
				return err
			}
			return h.verify(ctx)
		}),
		timed(rowBatch, lab.Peer, e.size(20, 10, 1), func(ctx context.Context) error { return raw.RenewBatch(ctx, n) }),
		lab.Contender{Name: rowOneByOne, Kind: lab.Peer, Round: func(ctx context.Context) (float64, error) {
			return lab.Once(func() error { return refresh(ctx) })
		}})
	if err != nil {
		return err
	}
	r.Note("%d leases of one instance on one connection. Values are medians of %d calls, of one pass for redislock.", n, calls)
	r.Tables = append(r.Tables, t)
	r.Plots = append(r.Plots, lab.Plot{File: "renew-redis", Title: "Renewing 10 000 leases, Redis", YAxis: "ms, logarithmic", Bars: t.Bars()})
	r.AtMost("renew 10 000 leases, Redis ÷ bare session renewal", t.Ratio(rowRenew, rowSession), 3, "×")
	r.AtLeast("renew 10 000 leases, Redis: redislock one by one ÷ Tenure", t.Ratio(rowOneByOne, rowRenew), 1000, "×")
	return nil
}

func renewPostgres(ctx context.Context, e *Env, r *lab.Report) error {
	n, calls := e.size(10_000, 10_000, 1000), e.size(500, 200, 5)
	f, err := e.postgresFleet(ctx)
	if err != nil {
		return err
	}
	s, end, err := f.open(ctx, nil)
	if err != nil {
		return err
	}
	defer end()
	h, err := hold(ctx, s, "", n)
	if err != nil {
		return err
	}
	stop := alive(ctx, h)
	defer stop()
	conn, err := e.postgres.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	raw, err := rivals.NewRawPostgres(ctx, conn, "0123456789abcdef0123456789abcdef")
	if err != nil {
		return err
	}
	if err := raw.Fill(ctx, n); err != nil {
		return err
	}
	interval := func(ctx context.Context) error {
		if err := h.renew(ctx); err != nil {
			return err
		}
		return h.verify(ctx)
	}
	t, err := e.Compare(ctx, "One renewal of everything", "ms",
		timed(rowSession, lab.Floor, calls, raw.RenewSession),
		timed(rowCommit, lab.Floor, calls, raw.Commit),
		timed(rowRenew, lab.Ours, calls, h.renew),
		timed(rowInterval, lab.Ours, calls, interval),
		timed(rowUnnest, lab.Peer, e.size(20, 10, 1), raw.RenewBatch))
	if err != nil {
		return err
	}
	stop() // whose renewals would be counted below
	wal, err := e.renewWAL(ctx, h, raw, interval)
	if err != nil {
		return err
	}
	r.Note("%d leases of one instance; fsync and synchronous_commit are on. Values are medians of %d calls (%d of the batch).", n, calls, e.size(20, 10, 1))
	r.Tables = append(r.Tables, t, wal)
	r.Plots = append(r.Plots, lab.Plot{File: "renew-postgres", Title: "Renewing 10 000 leases, PostgreSQL", YAxis: "ms, logarithmic", Bars: t.Bars()})
	r.AtMost("renew 10 000 leases, PostgreSQL ÷ bare session row", t.Ratio(rowRenew, rowSession), 1.5, "×")
	r.AtMost("renew 10 000 leases, PostgreSQL ÷ one synchronous COMMIT", t.Ratio(rowRenew, rowCommit), 2, "×")
	r.AtLeast("renew 10 000 leases, PostgreSQL: unnest batch ÷ Tenure", t.Ratio(rowUnnest, rowRenew), 50, "×")
	r.AtMost("renew 10 000 leases, PostgreSQL: WAL", wal.Median(rowRenew), 512, "B")
	return nil
}

// renewWAL compares what the renewals write to the log.
func (e *Env) renewWAL(ctx context.Context, h *holding, raw *rivals.RawPostgres, interval func(context.Context) error) (*lab.Table, error) {
	admin, err := e.postgres.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	if _, err := admin.Exec(ctx, "CHECKPOINT"); err != nil {
		return nil, err
	}
	written := func(name string, kind lab.Kind, n int, f func(context.Context) error) lab.Contender {
		return lab.Contender{Name: name, Kind: kind, Round: func(ctx context.Context) (float64, error) {
			return walOf(ctx, admin, n, func() error { return f(ctx) })
		}}
	}
	n := e.size(200, 100, 5)
	return e.Compare(ctx, "WAL of one renewal of everything", "B",
		written(rowSession, lab.Floor, n, raw.RenewSession),
		written(rowRenew, lab.Ours, n, h.renew),
		written(rowInterval, lab.Ours, n, interval),
		written(rowUnnest, lab.Peer, e.size(5, 2, 1), raw.RenewBatch))
}
