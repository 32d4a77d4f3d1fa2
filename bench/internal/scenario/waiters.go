package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// asked counts what candidates ask of a store.
type asked struct {
	lease.Manager
	opened, acquired, renewed atomic.Int64
}

// OpenSession implements lease.Manager.
func (a *asked) OpenSession(ctx context.Context, s lease.Session) (lease.Incarnation, error) {
	a.opened.Add(1)
	return a.Manager.OpenSession(ctx, s)
}

// Acquire implements lease.Manager.
func (a *asked) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	a.acquired.Add(1)
	return a.Manager.Acquire(ctx, s, keys)
}

// Renew implements lease.Manager.
func (a *asked) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	a.renewed.Add(1)
	return a.Manager.Renew(ctx, s)
}

// hearing is asked with the hints of the store below.
type hearing struct {
	*asked
	lease.Watcher
}

func counted(s interface {
	lease.Manager
	lease.Watcher
}) (hearing, *asked) {
	a := &asked{Manager: s}
	return hearing{a, s}, a
}

func waiting(ctx context.Context, e *Env, r *lab.Report) error {
	candidates := e.size(100, 100, 5)
	hour, err := e.hour(candidates)
	if err != nil {
		return err
	}
	r.Note("An hour of waiting is played in virtual time on the store in memory: %d runners contend for a key that another one holds.", candidates)
	r.AtMost("100 candidates waiting: Acquire calls per candidate and TTL", hour.PerTTL, 1.25, "")
	r.AtMost("100 candidates waiting: renewals of sessions that hold nothing", float64(hour.Renewals), 0, "")

	won := &lab.Table{Title: "From the old work's return to the winner's first line", Unit: "ms"}
	calls := &lab.Table{Title: "Acquire calls of all candidates within 300 ms of a release", Unit: "calls"}
	took, asks, err := e.releases(ctx, candidates, e.size(40, 5, 2))
	if err != nil {
		return err
	}
	won.Rows = []lab.Row{{Name: rowTenure, Kind: lab.Ours, Values: took}}
	calls.Rows = []lab.Row{{Name: rowTenure, Kind: lab.Ours, Values: asks}}
	r.Note("The releases are real: %d runners with a client each on one Redis, %d step-downs.", candidates+1, len(took))
	r.Tables = append(r.Tables, won, calls)
	r.AtMost("a singleton of 100 candidates is released: a winner, p50", lab.Median(took), 5, "ms")
	r.AtMost("a singleton of 100 candidates is released: Acquire calls in all, median", lab.Median(asks), 10, "")
	return nil
}

// hour is what candidates asked for while they waited.
type hour struct {
	PerTTL   float64 // Acquire calls per candidate and TTL
	Renewals int64   // of sessions that held nothing
}

// hour has a child play it.
func (e *Env) hour(candidates int) (hour, error) {
	var h hour
	p, err := e.spawn(Child{Role: "waiters", Workloads: candidates, Seconds: e.size(3600, 3600, 60)})
	if err != nil {
		return h, err
	}
	if err := p.out.Decode(&h); err != nil {
		return h, err
	}
	return h, p.stop()
}

// waiters is the child's side. It ends the process.
func (c Child) waiters(out *json.Encoder) {
	lab.VirtualMain(func() error {
		h, err := c.wait(context.Background())
		if err != nil {
			return err
		}
		return out.Encode(h)
	})
}

// wait has candidates contend in virtual time for a key that another one holds.
func (c Child) wait(ctx context.Context) (h hour, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	m, err := memory.New(memory.Config{})
	if err != nil {
		return h, err
	}
	leads := make(chan struct{}, 1)
	contend := func(s lease.Manager) error {
		run, err := runner.New(s, instance.New(), runner.Spec{Key: "singleton", Work: func(ctx context.Context, term *runner.Term) error {
			leads <- struct{}{}
			return idleWork(ctx, term)
		}}, runner.Config{})
		if err == nil {
			running.Go(func() { _ = run.Run(ctx) })
		}
		return err
	}
	if err := contend(m); err != nil {
		return h, err
	}
	<-leads
	all := make([]*asked, c.Workloads)
	for i := range all {
		var s hearing
		s, all[i] = counted(m)
		if err := contend(s); err != nil {
			return h, err
		}
	}
	time.Sleep(time.Duration(c.Seconds) * time.Second)
	const ttl = 10 // s, the default
	for _, a := range all {
		h.PerTTL += float64(a.acquired.Load()) * ttl / float64(c.Seconds) / float64(len(all))
		h.Renewals += a.renewed.Load()
	}
	return h, nil
}

// releases has leaders step down, and returns for each how long the key was without one, and how many
// calls that took.
func (e *Env) releases(ctx context.Context, candidates, n int) (took, asks []float64, err error) {
	f, err := e.redisFleet(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var ends []func()
	defer func() {
		cancel()
		for _, end := range ends {
			end()
		}
	}()
	type turn struct {
		who int
		at  time.Time
	}
	begun, left := make(chan turn, 16), make(chan time.Time, 16)
	runners, counts := make([]*runner.Runner, candidates+1), make([]*asked, candidates+1)
	for i := range runners {
		s, end, err := f.open(nil)
		if err != nil {
			return nil, nil, err
		}
		var h hearing
		h, counts[i] = counted(s)
		runners[i], err = runner.New(h, instance.New(), runner.Spec{Key: "singleton", Work: func(ctx context.Context, term *runner.Term) error {
			begun <- turn{i, time.Now()}
			err := idleWork(ctx, term)
			left <- time.Now()
			return err
		}}, runner.Config{})
		if err != nil {
			end()
			return nil, nil, err
		}
		ends = append(ends, inBackground(ctx, runners[i].Run, end))
	}
	leader := <-begun
	time.Sleep(3 * time.Second) // all have been refused and wait
	total := func() (sum int64) {
		for _, c := range counts {
			sum += c.acquired.Load()
		}
		return sum
	}
	for range n {
		before := total()
		if err := runners[leader.who].StepDown(ctx); err != nil {
			return nil, nil, err
		}
		gone := <-left
		select {
		case leader = <-begun:
		case <-time.After(patience):
			return nil, nil, fmt.Errorf("nobody leads: %w", errSlow)
		}
		took = append(took, lab.Ms(leader.at.Sub(gone)))
		time.Sleep(300 * time.Millisecond)
		asks = append(asks, float64(total()-before))
	}
	return took, asks, nil
}
