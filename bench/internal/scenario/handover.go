package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/bench/internal/rivals"
)

const (
	rowRawPubSub  = "pub/sub and Lua, by hand"
	rowRawNotify  = "NOTIFY and upsert, by hand"
	rowRedislock1 = "redislock, LinearBackoff 100 ms (its README)"
	rowRedislock2 = "redislock, LinearBackoff 1 ms (its best)"
	rowClientGo   = "client-go leaderelection, defaults (virtual time)"
	rowEtcd       = "etcd Election, embedded server"
)

// waits is how long a follower has waited at least when the lock is let go of.
const waits = 20 * time.Millisecond

// handing collects handovers: the p50 of each round is its value, and all are kept for the distribution.
type handing struct {
	n   int
	all map[string][]float64
	in  []lab.Contender
}

func (h *handing) add(name string, kind lab.Kind, n int, f func(ctx context.Context, n int) ([]float64, error)) {
	counts := false
	h.in = append(h.in, lab.Contender{Name: name, Kind: kind, Round: func(ctx context.Context) (float64, error) {
		took, err := f(ctx, n)
		if counts {
			h.all[name] = append(h.all[name], took...)
		}
		counts = true // from the second round on
		return lab.Median(took), err
	}})
}

// locks adds a contender that is a lock.
func (h *handing) locks(name string, kind lab.Kind, a, b rivals.Lock) {
	h.add(name, kind, h.n, func(ctx context.Context, n int) ([]float64, error) {
		return rivals.Handovers(ctx, a, b, n, waits)
	})
}

// report compares, and adds the distribution of all handovers.
func (h *handing) report(ctx context.Context, e *Env, r *lab.Report, file string) (*lab.Table, error) {
	t, err := e.Compare(ctx, "A handover, p50 of a round", "ms", h.in...)
	if err != nil {
		return nil, err
	}
	tail := &lab.Table{Title: fmt.Sprintf("All handovers of all rounds (%d each, fewer of the slow): p50, p99, worst", h.n*e.Rounds), Unit: "ms in the columns min, median, max"}
	plot := lab.Plot{File: file, Title: "Graceful handover: share of handovers that took no longer", YAxis: "% of handovers", XAxis: "ms, logarithmic"}
	for _, row := range t.Rows {
		all := h.all[row.Name]
		tail.Rows = append(tail.Rows, lab.Row{Name: row.Name, Kind: row.Kind, Values: []float64{lab.Quantile(all, 0.5), lab.Quantile(all, 0.99), lab.Quantile(all, 1)}})
		plot.Lines = append(plot.Lines, lab.Line{Name: row.Name, Values: all})
	}
	r.Tables = append(r.Tables, t, tail)
	r.Plots = append(r.Plots, plot)
	return t, nil
}

func handoverRedis(ctx context.Context, e *Env, r *lab.Report) error {
	f, err := e.redisFleet(ctx)
	if err != nil {
		return err
	}
	h := &handing{n: e.size(30, 4, 2), all: map[string][]float64{}}
	end, err := e.redisLocks(ctx, h)
	defer end()
	if err != nil {
		return err
	}
	d, err := startDuel(ctx, f)
	if err != nil {
		return err
	}
	defer d.stop()
	h.add(rowTenure, lab.Ours, h.n, d.handovers)
	p, err := e.startPeers()
	if err != nil {
		return err
	}
	if p != nil {
		defer p.stop()
		h.add(rowClientGo, lab.Peer, 4*h.n, func(_ context.Context, n int) ([]float64, error) { return p.ask("client-go-handover", n, 0) })
	}
	t, err := h.report(ctx, e, r, "handover-redis")
	if err != nil {
		return err
	}
	r.Note("Tenure: two coordinators and one workload whose pin moves it to and fro (each runs another one that stays); from the moment before the old work returns to the first line of the new. The others: from the call that lets go to the other side's return from waiting. Every follower has waited for 20 to 40 ms by then.")
	if p != nil {
		r.Note("client-go runs in virtual time on an in-memory lock: no round trip is counted for it.")
	} else {
		r.Note("client-go is missing: %s.", e.Missing)
	}
	r.AtMost("graceful handover, Redis, p50 ÷ hand-written pub/sub", t.Ratio(rowTenure, rowRawPubSub), 2, "×")
	r.AtLeast("graceful handover, Redis, p50: redislock ÷ Tenure", t.Ratio(rowRedislock1, rowTenure), 30, "×")
	if p != nil {
		r.AtLeast("graceful handover, Redis, p50: client-go ÷ Tenure", t.Ratio(rowClientGo, rowTenure), 1000, "×")
	}
	return nil
}

// redisLocks adds the floor and the peers.
func (e *Env) redisLocks(ctx context.Context, h *handing) (end func(), err error) {
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	const raw, rueidis, slow, fast, sync, syncFast, kinds = 0, 1, 2, 3, 4, 5, 6
	var locks [kinds][2]rivals.Lock
	for i := range 2 {
		client := e.redis.Client()
		ends = append(ends, func() { client.Close() })
		lock, stop, err := (&rivals.RawRedis{Client: client, Owner: fmt.Sprint("side-", i)}).Lock(ctx)
		if err != nil {
			return end, err
		}
		other, err := rivals.NewRueidislock(e.redis.Addr(), "rueidislock")
		if err != nil {
			return end, err
		}
		ends = append(ends, stop, other.Close)
		locks[raw][i], locks[rueidis][i] = lock, other
		locks[slow][i] = rivals.NewRedislock(client, "redislock-100", 100*time.Millisecond)
		locks[fast][i] = rivals.NewRedislock(client, "redislock-1", time.Millisecond)
		locks[sync][i] = rivals.NewRedsync(client, "redsync", 0)
		locks[syncFast][i] = rivals.NewRedsync(client, "redsync-1", time.Millisecond)
	}
	for i, c := range []struct {
		name string
		kind lab.Kind
	}{
		{rowRawPubSub, lab.Floor}, {"rueidislock, majority 1", lab.Peer}, {rowRedislock1, lab.Peer}, {rowRedislock2, lab.Peer},
		{"redsync, defaults (50 to 250 ms)", lab.Peer}, {"redsync, delay 1 ms (its best)", lab.Peer},
	} {
		h.locks(c.name, c.kind, locks[i][0], locks[i][1])
	}
	return end, nil
}

func handoverPostgres(ctx context.Context, e *Env, r *lab.Report) error {
	f, err := e.postgresFleet(ctx)
	if err != nil {
		return err
	}
	h := &handing{n: e.size(30, 4, 2), all: map[string][]float64{}}
	var raw [2]rivals.Lock
	for i := range raw {
		conn, err := e.postgres.Connect(ctx)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		ear, err := e.postgres.Connect(ctx)
		if err != nil {
			return err
		}
		defer ear.Close(context.WithoutCancel(ctx))
		side, err := rivals.NewRawPostgres(ctx, conn, fmt.Sprint("side-", i))
		if err != nil {
			return err
		}
		if raw[i], err = side.Lock(ctx, ear); err != nil {
			return err
		}
	}
	d, err := startDuel(ctx, f)
	if err != nil {
		return err
	}
	defer d.stop()
	h.locks(rowRawNotify, lab.Floor, raw[0], raw[1])
	h.add(rowTenure, lab.Ours, h.n, d.handovers)
	p, err := e.startPeers()
	if err != nil {
		return err
	}
	if p != nil {
		defer p.stop()
		h.add(rowEtcd, lab.Peer, max(h.n/4, 2), func(_ context.Context, n int) ([]float64, error) { return p.ask("etcd-handover", n, 0) })
	}
	t, err := h.report(ctx, e, r, "handover-postgres")
	if err != nil {
		return err
	}
	r.Note("As handover-redis. Every change is a synchronous commit, etcd's too; an etcd follower has waited for 150 to 300 ms, since one that has begun only just before pays up to 100 ms more.")
	if p == nil {
		r.Note("etcd is missing: %s.", e.Missing)
	}
	r.AtMost("graceful handover, PostgreSQL, p50 ÷ hand-written NOTIFY", t.Ratio(rowTenure, rowRawNotify), 1.5, "×")
	return nil
}
