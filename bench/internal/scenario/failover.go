package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

const (
	rowSingletons   = "Tenure: runners of a singleton"
	rowCoordinators = "Tenure: coordinators"
	rowFailClientGo = "client-go leaderelection (virtual time)"
)

// failover kills leaders, each at a random moment, and waits for their successors.
func failover(ctx context.Context, e *Env, r *lab.Report) error {
	kills := e.size(100, 40, 4)
	timing := lease.Timing{LeaseTTL: time.Duration(e.size(15_000, 2000, 1000)) * time.Millisecond}
	timing, err := timing.Resolve()
	if err != nil {
		return err
	}
	t := &lab.Table{Title: fmt.Sprintf("From the kill to the successor's first line, %d kills", kills), Unit: "s"}
	for _, c := range []struct {
		name  string
		start func(context.Context, *redisFleet, lease.Timing) (*pairing, error)
	}{{rowSingletons, pairOfRunners}, {rowCoordinators, pairOfCoordinators}} {
		e.Say("  %d kills: %s", kills, c.name)
		took, err := e.kill(ctx, kills, timing, c.start)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		t.Rows = append(t.Rows, lab.Row{Name: c.name, Kind: lab.Ours, Values: took})
	}
	p, err := e.startPeers()
	if err != nil {
		return err
	}
	if p != nil {
		defer p.stop()
		took, err := p.ask("client-go-failover", kills, timing.LeaseTTL)
		if err != nil {
			return err
		}
		for i := range took {
			took[i] /= 1000
		}
		t.Rows = append(t.Rows, lab.Row{Name: rowFailClientGo, Kind: lab.Peer, Values: took})
	} else {
		r.Note("client-go is missing: %s.", e.Missing)
	}
	r.Note("TTL %v, renewed each %v (the default proportion; client-go's is 15 : 2). %d pairs at the same time on one Redis; the connections of each leader are cut at a random moment, so that neither side hears of it. The lower bound of anything that waits for an expiry is TTL − R/2 on average and TTL at worst.",
		timing.LeaseTTL, timing.RenewInterval, kills)
	r.Tables = append(r.Tables, t)
	plot := lab.Plot{File: "failover", Title: "Crash failover: share of kills after which a successor ran", YAxis: "% of kills", XAxis: "s, logarithmic"}
	for _, row := range t.Rows {
		plot.Lines = append(plot.Lines, lab.Line{Name: row.Name, Values: row.Values})
	}
	r.Plots = append(r.Plots, plot)
	ttl, renew := timing.LeaseTTL.Seconds(), timing.RenewInterval.Seconds()
	for _, name := range []string{rowSingletons, rowCoordinators} {
		row := t.Row(name)
		r.AtMost("crash failover, mean; "+name, lab.Mean(row.Values), ttl-renew/2+0.25, "s")
		r.AtMost("crash failover, worst; "+name, lab.Quantile(row.Values, 1), ttl+0.5, "s")
		if p != nil {
			r.AtMost("crash failover, mean ÷ client-go's; "+name, lab.Mean(row.Values)/lab.Mean(t.Row(rowFailClientGo).Values), 0.8, "×")
		}
	}
	return nil
}

// pairing is a leader and its follower.
type pairing struct {
	wire  *lab.Wire // of the leader
	begun chan time.Time
	stop  func()
}

// kill runs n pairs at once and returns how long each follower took, in seconds.
func (e *Env) kill(ctx context.Context, n int, timing lease.Timing, start func(context.Context, *redisFleet, lease.Timing) (*pairing, error)) ([]float64, error) {
	took := make([]float64, n)
	var running sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		f, err := e.redisFleet(ctx)
		if err != nil {
			return nil, err
		}
		running.Go(func() {
			p, err := start(ctx, f, timing)
			if err != nil {
				errs <- err
				return
			}
			defer p.stop()
			time.Sleep(timing.LeaseTTL/2 + rand.N(timing.RenewInterval))
			killed := time.Now()
			p.wire.Cut()
			select {
			case at := <-p.begun:
				took[i] = at.Sub(killed).Seconds()
			case <-time.After(timing.LeaseTTL + patience):
				errs <- errSlow
			}
		})
	}
	running.Wait()
	select {
	case err := <-errs:
		return nil, err
	default:
		return took, nil
	}
}

// pairOf starts a leader and then a follower, and returns once the leader leads and the follower waits.
func pairOf(ctx context.Context, f *redisFleet, run func(ctx context.Context, id instance.ID, wire *lab.Wire, begun chan time.Time) (end func(), err error)) (*pairing, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &pairing{wire: &lab.Wire{}, begun: make(chan time.Time, 4)}
	var ends []func()
	p.stop = func() {
		cancel()
		for _, end := range ends {
			end()
		}
	}
	for _, id := range []instance.ID{"leader", "follower"} {
		wire, begun := p.wire, make(chan time.Time, 4)
		if id == "follower" {
			wire, begun = nil, p.begun
		}
		end, err := run(ctx, id, wire, begun)
		if err != nil {
			p.stop()
			return nil, err
		}
		ends = append(ends, end)
		if id == "leader" {
			select {
			case <-begun:
			case <-time.After(patience):
				p.stop()
				return nil, errSlow
			}
		}
	}
	return p, nil
}

// impatient winds down at once: what is over must not hold up the measurement.
func impatient(t lease.Timing) lease.Timing {
	t.DrainTimeout, t.HardStop, t.CallTimeout = time.Second, time.Second, min(t.CallTimeout, time.Second)
	return t
}

func pairOfRunners(ctx context.Context, f *redisFleet, timing lease.Timing) (*pairing, error) {
	return pairOf(ctx, f, func(ctx context.Context, id instance.ID, wire *lab.Wire, begun chan time.Time) (func(), error) {
		s, end, err := f.open(wire)
		if err != nil {
			return nil, err
		}
		run, err := runner.New(s, id, runner.Spec{Key: "singleton", Work: func(ctx context.Context, term *runner.Term) error {
			begun <- time.Now()
			return idleWork(ctx, term)
		}}, runner.Config{Timing: impatient(timing)})
		if err != nil {
			return nil, err
		}
		return inBackground(ctx, run.Run, end), nil
	})
}

func pairOfCoordinators(ctx context.Context, f *redisFleet, timing lease.Timing) (*pairing, error) {
	return pairOf(ctx, f, func(ctx context.Context, id instance.ID, wire *lab.Wire, begun chan time.Time) (func(), error) {
		s, end, err := f.open(wire)
		if err != nil {
			return nil, err
		}
		c, err := coordinator.New(s, []coordinator.Workload[string]{{Key: "workload"}}, func(ctx context.Context, term *runner.Term, _ string) error {
			begun <- time.Now()
			return idleWork(ctx, term)
		}, coordinator.Config{Instance: instance.Instance{ID: id}, Timing: impatient(timing)})
		if err != nil {
			return nil, err
		}
		return inBackground(ctx, c.Run, end), nil
	})
}

// inBackground starts an engine, and returns what waits for its end once its context has ended.
func inBackground(ctx context.Context, run func(context.Context) error, end func()) func() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx) // no store error ends it
	}()
	return func() { <-done; end() }
}
