package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/runner"
)

// part is a child's part of a fleet.
type part struct {
	child     Child
	catalogue []coordinator.Workload[int]
	places    []*member

	mu     sync.Mutex
	events []event
}

// member is one instance, which is replaced by a restart.
type member struct {
	co     *coordinator.Coordinator[int]
	cancel context.CancelFunc
	wait   func()
	life   int

	mu      sync.Mutex
	running int
}

// fleet is the child's side: it runs its instances and obeys until its input ends.
func (c Child) fleet(ctx context.Context, orders *bufio.Scanner, out *json.Encoder) error {
	p := &part{child: c, catalogue: make([]coordinator.Workload[int], c.Workloads), places: make([]*member, c.Count)}
	for i, key := range keysOf(c.Workloads) {
		p.catalogue[i] = coordinator.Workload[int]{Key: key, Value: i}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer p.end(cancel)
	for i := range p.places {
		p.places[i] = &member{}
		if err := p.start(ctx, i); err != nil {
			return err
		}
	}
	for orders.Scan() {
		var o order
		if err := json.Unmarshal(orders.Bytes(), &o); err != nil {
			return err
		}
		a := p.obey(ctx, o)
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return orders.Err()
}

// end lets go of nothing in good order: the fleet is over.
func (p *part) end(cancel context.CancelFunc) {
	cancel()
	var g errgroup.Group
	for _, m := range p.places {
		if m != nil && m.wait != nil {
			g.Go(func() error { m.wait(); return nil })
		}
	}
	done := make(chan struct{})
	go func() { _ = g.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		fmt.Fprintln(os.Stderr, "bench: some instances did not end in time") // everything else was measured
	}
}

// start brings an instance up at a place.
func (p *part) start(ctx context.Context, at int) error {
	m := p.places[at]
	m.life++
	f := &redisFleet{p.child.Addr, p.child.Fleet, maxTTL}
	s, end, err := f.open(nil)
	if err != nil {
		return err
	}
	id := instance.ID(fmt.Sprintf("instance-%03d-%d", p.child.First+at, m.life))
	m.co, err = coordinator.New(s, p.catalogue, func(ctx context.Context, term *runner.Term, key int) error {
		p.note(m, key, true)
		err := idleWork(ctx, term)
		p.note(m, key, false)
		return err
	}, coordinator.Config{
		Instance: instance.Instance{ID: id},
		Planner:  coordinator.PlannerConfig{ExpectedInstances: p.child.Instances, ExpectedWait: time.Minute},
	})
	if err != nil {
		return err
	}
	ctx, m.cancel = context.WithCancel(ctx)
	m.wait = inBackground(ctx, m.co.Run, end)
	return nil
}

func (p *part) note(m *member, key int, begin bool) {
	at := lab.Monotonic().Microseconds()
	m.mu.Lock()
	if begin {
		m.running++
	} else {
		m.running--
	}
	m.mu.Unlock()
	p.mu.Lock()
	p.events = append(p.events, event{key, at, begin})
	p.mu.Unlock()
}

func (p *part) obey(ctx context.Context, o order) (a said) {
	switch o.Do {
	case "count":
		a.Least = p.child.Workloads
		for _, m := range p.places {
			m.mu.Lock()
			a.Least, a.Most, a.Total = min(a.Least, m.running), max(a.Most, m.running), a.Total+m.running
			m.mu.Unlock()
		}
	case "restart":
		m := p.places[o.At]
		m.cancel()
		m.wait()
		if err := p.start(ctx, o.At); err != nil {
			a.Error = err.Error()
		}
	case "dump":
		p.mu.Lock()
		a.Events = p.events
		p.mu.Unlock()
	default:
		a.Error = fmt.Sprintf("unknown order %q", o.Do)
	}
	return a
}
