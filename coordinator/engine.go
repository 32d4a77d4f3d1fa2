package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/notify"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/tick"
)

// ErrStopped is returned by a Run after the first has ended: make a new coordinator, an instance lives once.
var ErrStopped = errors.New("tenure: the coordinator was run already; make a new one")

// engine is a coordinator without its type parameter: what its methods and its loop share.
type engine struct {
	self    instance.Instance
	timing  lease.Timing
	window  time.Duration
	policy  assigner.Policy
	mode    mode
	planner PlannerConfig
	store   Separate
	trips   *tick.Board // nil: the store cannot make trips of several calls
	set     *runner.Set
	work    func(ctx context.Context, term *runner.Term, value any) error

	clock   clock.Clock
	line    clock.Line
	observe observers
	log     *slog.Logger
	events  notify.Queue
	hints   hints
	news    news
	gate    call.Gate // of BeginDrain
	wake    chan struct{}
	jobs    *jobs
	terms   terms

	mu        sync.Mutex
	running   bool
	stopped   bool
	leaving   bool
	draining  bool
	catalogue *catalogue
	ring      ring
	shown     shown
}

func newEngine(store Store, first *catalogue, cfg Config) (*engine, error) {
	p, err := parts(store)
	if err != nil {
		return nil, err
	}
	timing := cfg.Timing // as given: where a negative jitter is resolved to none, a second time would be the default
	if cfg, err = cfg.resolve(); err != nil {
		return nil, err
	}
	e := &engine{
		self: cfg.Instance, timing: cfg.Timing, window: cfg.Settle, policy: cfg.Policy, planner: cfg.Planner, store: p, news: newNews(),
		clock: cfg.Clock, line: clock.NewLine(cfg.Clock), observe: splitObservers(cfg.Observers), log: cfg.Logger,
		wake: make(chan struct{}, 1), jobs: newJobs(), catalogue: first,
	}
	if e.mode, err = choose(cfg, p); err != nil {
		return nil, err
	}
	e.trips = tick.NewBoard(p.Manager, cfg.Clock)
	e.set, err = runner.NewSet(p.Manager, e.self.ID, runner.Config{
		Timing: timing, Restart: cfg.Restart, Backoff: cfg.Backoff, Status: p.Store, Logger: cfg.Logger,
		Observers: cfg.Observers, OnStuck: cfg.OnStuck, OnChange: e.hint, VerifySlice: cfg.VerifySlice, Trips: e.trips, Clock: cfg.Clock,
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// begin claims the one run of this coordinator.
func (e *engine) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.stopped:
		return ErrStopped
	case e.running:
		return runner.ErrRunning
	}
	e.running = true
	return nil
}

// poke makes the loop look again.
func (e *engine) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// spread returns d moved by up to the jitter to either side.
func (e *engine) spread(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*e.timing.Jitter*(2*e.clock.Float64()-1))
}

func (e *engine) setCatalogue(next *catalogue) {
	e.mu.Lock()
	next.version = e.catalogue.version + 1
	e.catalogue = next
	e.mu.Unlock()
	e.poke()
}

func (e *engine) currentCatalogue() *catalogue {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.catalogue
}

// workOf is the Work of a workload: it looks its value up when the term begins.
func (e *engine) workOf(key string, first any) runner.Work {
	return func(ctx context.Context, term *runner.Term) error {
		value, cat := first, e.currentCatalogue()
		if at := cat.find(key); at >= 0 {
			value = cat.value(at)
		}
		e.terms.add(term)
		defer e.terms.remove(term)
		return e.work(ctx, term, value)
	}
}

func (e *engine) isDraining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}

// startDraining begins the drain here, before anybody is told.
func (e *engine) startDraining(why string) {
	e.mu.Lock()
	first := !e.draining
	e.draining = true
	e.mu.Unlock()
	if first {
		e.note(EventDraining, "", why)
		e.set.DrainAll()
		e.poke()
	}
}

func (e *engine) beginDrain(ctx context.Context) error {
	e.startDraining("BeginDrain was called")
	_, err := call.Do(ctx, &e.gate, "BeginDrain", e.timing.CallTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, e.store.BeginDrain(ctx, e.self.ID)
	})
	return err
}
