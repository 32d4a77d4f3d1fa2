package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/runner"
)

func drainRedis(ctx context.Context, e *Env, r *lab.Report) error {
	return e.drain(ctx, r, "Redis", func() (place, error) { return e.redisFleet(ctx) })
}

func drainPostgres(ctx context.Context, e *Env, r *lab.Report) error {
	return e.drain(ctx, r, "PostgreSQL", func() (place, error) { return e.postgresFleet(ctx) })
}

const rowDrain = "Tenure: last work returned until the last one runs elsewhere"

// drain measures how long the last of a drained instance's workloads is without an owner.
func (e *Env) drain(ctx context.Context, r *lab.Report, store string, next func() (place, error)) error {
	const instances = 10
	n := instances * e.size(1000, 1000, 20)
	few := e.Lab
	few.Rounds, few.Cold = e.size(5, 1, 1), true
	t, err := few.Compare(ctx, "An instance is drained", "ms", lab.Contender{Name: rowDrain, Kind: lab.Ours,
		Round: func(ctx context.Context) (float64, error) {
			p, err := next()
			if err != nil {
				return 0, err
			}
			return drainOnce(ctx, p, instances, n)
		}})
	if err != nil {
		return err
	}
	r.Note("%d coordinators in one process, each with a client of its own, run %d idle workloads; one of them is drained. A new fleet in every round, %d rounds.", instances, n, few.Rounds)
	r.Tables = append(r.Tables, t)
	r.AtMost("drain of 1 000 idle workloads to 9 others, "+store, t.Median(rowDrain), 250, "ms")
	return nil
}

// crowd is a fleet of coordinators in this process, and what their work saw.
type crowd struct {
	all     []*coordinator.Coordinator[string]
	running sync.WaitGroup
	cancel  context.CancelFunc
	ends    []func()

	mu       sync.Mutex
	owner    map[string]int       // who runs it now
	begun    map[string]time.Time // when its present work began
	returned map[string]time.Time // when its last work returned
}

func newCrowd(ctx context.Context, p place, instances, workloads int) (*crowd, error) {
	c := &crowd{owner: map[string]int{}, begun: map[string]time.Time{}, returned: map[string]time.Time{}}
	ctx, c.cancel = context.WithCancel(ctx)
	catalogue := make([]coordinator.Workload[string], workloads)
	for i, key := range keysOf(workloads) {
		catalogue[i] = coordinator.Workload[string]{Key: key, Value: key}
	}
	for i := range instances {
		s, end, err := p.store(ctx, nil)
		if err != nil {
			c.stop()
			return nil, err
		}
		c.ends = append(c.ends, end)
		co, err := coordinator.New(s, catalogue, func(ctx context.Context, term *runner.Term, key string) error {
			return c.work(ctx, term, i, key)
		}, coordinator.Config{
			Instance: instance.Instance{ID: instance.ID(fmt.Sprintf("instance-%03d", i))},
			Planner:  coordinator.PlannerConfig{ExpectedInstances: instances}, // or the first would take everything
		})
		if err != nil {
			c.stop()
			return nil, err
		}
		c.all = append(c.all, co)
	}
	for _, co := range c.all {
		c.running.Go(func() { _ = co.Run(ctx) }) // no store error ends it
	}
	return c, nil
}

func (c *crowd) stop() {
	c.cancel()
	c.running.Wait()
	for _, end := range c.ends {
		end()
	}
}

func (c *crowd) work(ctx context.Context, term *runner.Term, at int, key string) error {
	c.mu.Lock()
	c.owner[key], c.begun[key] = at, time.Now()
	c.mu.Unlock()
	err := idleWork(ctx, term)
	c.mu.Lock()
	c.returned[key] = time.Now()
	if c.owner[key] == at {
		delete(c.owner, key)
	}
	c.mu.Unlock()
	return err
}

// keysAt returns what runs on an instance.
func (c *crowd) keysAt(at int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []string
	for key, who := range c.owner {
		if who == at {
			keys = append(keys, key)
		}
	}
	return keys
}

// until waits until something is so.
func until(ctx context.Context, what string, holds func() bool) error {
	for end := time.Now().Add(2 * patience); time.Now().Before(end); {
		if holds() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("not in two minutes: %s", what)
}

func drainOnce(ctx context.Context, p place, instances, workloads int) (float64, error) {
	c, err := newCrowd(ctx, p, instances, workloads)
	if err != nil {
		return 0, err
	}
	defer c.stop()
	share := workloads / instances
	err = until(ctx, "the fleet is balanced", func() bool {
		for i := range instances {
			if len(c.keysAt(i)) != share {
				return false
			}
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	time.Sleep(2500 * time.Millisecond) // longer than one heartbeat: what was going on has ended
	moved := c.keysAt(0)
	if err := c.all[0].BeginDrain(ctx); err != nil {
		return 0, err
	}
	err = until(ctx, "everything runs elsewhere", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.owner) == workloads && !c.runsAt(0)
	})
	if err != nil {
		return 0, err
	}
	var lastReturn, lastBegin time.Time
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range moved {
		if c.returned[key].IsZero() {
			return 0, errors.New("a workload that was drained has not returned")
		}
		lastReturn, lastBegin = later(lastReturn, c.returned[key]), later(lastBegin, c.begun[key])
	}
	return lab.Ms(lastBegin.Sub(lastReturn)), nil
}

// runsAt reports whether anything runs on an instance. The mutex is held.
func (c *crowd) runsAt(at int) bool {
	for _, who := range c.owner {
		if who == at {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
