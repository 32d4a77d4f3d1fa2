package tenuretest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// FleetConfig holds what is optional of a Fleet. The zero value is the documented defaults.
type FleetConfig struct {
	// Coordinator is what every instance is configured with. Its Instance and Clock are the
	// fleet's to fill and must be left empty.
	Coordinator coordinator.Config
	// Patience is how long, in virtual time, Settled waits before it fails the test. The default covers
	// a crash, a handover whose drain times out, a freeze, the planner's cool-down, and five settle windows after each other.
	Patience time.Duration
}

// Fleet is a number of coordinators on one memory store in a synctest bubble. It fails the test when two
// workers of one key run at once, or a token falls. Make one with NewFleet.
//
// Its methods belong on the test's own goroutine, but for OwnerOf, Owners, Running and Starts, which
// are safe anywhere. Those that change something return when everything that follows at the present
// instant has happened; time passes only in Settled and Stop, and where the test sleeps.
type Fleet[W any] struct {
	t       testing.TB
	cfg     FleetConfig
	timing  lease.Timing
	memory  *memory.Store
	witness *witness
	work    coordinator.Work[W]

	mu        sync.Mutex
	catalogue []coordinator.Workload[W]
	members   []*member[W] // all that ever were, in the order of their start
}

// NewFleet makes a fleet without instances; Start adds them. A nil work does nothing until it is drained or
// cancelled. It must be called inside synctest.Test, with the t of the bubble. When the test ends, what
// still runs is stopped, and the test fails where a worker does not return.
func NewFleet[W any](t testing.TB, catalogue []coordinator.Workload[W], work coordinator.Work[W], cfg FleetConfig) *Fleet[W] {
	t.Helper()
	if !inBubble() {
		t.Fatalf("NewFleet: called outside a bubble, where a failover takes real seconds: call it inside synctest.Test")
	}
	timing, err := cfg.Coordinator.Timing.Resolve()
	switch {
	case err != nil:
		t.Fatalf("NewFleet: FleetConfig.Coordinator: %v", err)
	case cfg.Coordinator.Instance.ID != "":
		t.Fatalf("NewFleet: FleetConfig.Coordinator.Instance is %q: must be empty; Join takes the description of an instance", cfg.Coordinator.Instance.ID)
	case cfg.Coordinator.Clock != nil:
		t.Fatalf("NewFleet: FleetConfig.Coordinator.Clock is set: must be nil; every instance gets a clock of its own, for Pause")
	case cfg.Patience < 0:
		t.Fatalf("NewFleet: FleetConfig.Patience is %v: must not be negative; zero means the default", cfg.Patience)
	}
	f := &Fleet[W]{
		t: t, cfg: cfg, timing: timing, work: work, catalogue: slices.Clone(catalogue),
		memory: newStore(t, timing.LeaseTTL), witness: newWitness(t),
	}
	if f.cfg.Patience == 0 {
		settle := max(cfg.Coordinator.Settle, timing.HeartbeatInterval)
		cool := cfg.Coordinator.Planner.CoolDown
		if cool == 0 {
			cool = 3 * timing.LeaseTTL
		}
		f.cfg.Patience = timing.WorstFailover() + timing.WorstHandover() + max(timing.LeaseTTL, lease.DefaultMaxTTL) + max(cool, 0) + 5*settle
	}
	if work == nil {
		f.work = idle[W]
	}
	t.Cleanup(f.cleanup)
	return f
}

// idle is the work of a fleet that is given none.
func idle[W any](ctx context.Context, term *runner.Term, _ W) error {
	select {
	case <-term.Draining():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// inBubble reports whether the caller is in a synctest bubble, and lets everything settle there.
func inBubble() (in bool) {
	defer func() { in = recover() == nil }()
	synctest.Wait()
	return true
}

// Start starts instances, in this order. An ID is used once: a process that is started again is another one.
func (f *Fleet[W]) Start(ids ...instance.ID) {
	f.t.Helper()
	for _, id := range ids {
		f.Join(instance.Instance{ID: id})
	}
}

// Join is Start for an instance with a zone, a version, labels or a capacity.
func (f *Fleet[W]) Join(i instance.Instance) {
	f.t.Helper()
	if f.find(i.ID) != nil {
		f.t.Fatalf("Start: there was an instance %q already; an ID is unique per start, so give it another", i.ID)
	}
	m := f.newMember(i)
	f.mu.Lock()
	f.members = append(f.members, m)
	f.mu.Unlock()
	f.witness.note("%s is started", i.ID)
	m.start()
	synctest.Wait()
}

// SetWorkloads replaces the catalogue of every instance that runs, and of those to come.
func (f *Fleet[W]) SetWorkloads(catalogue []coordinator.Workload[W]) {
	f.t.Helper()
	f.mu.Lock()
	f.catalogue = slices.Clone(catalogue)
	f.mu.Unlock()
	f.witness.note("the catalogue has %d workloads now", len(catalogue))
	for _, m := range f.all() {
		if err := m.SetWorkloads(catalogue); err != nil {
			f.t.Fatalf("SetWorkloads: %v", err)
		}
	}
	synctest.Wait()
}

// Store returns the store of the fleet, which no instance's faults touch: to look at it, to make it lose
// its latest writes (Snapshot, Restore), or to revoke a lease.
func (f *Fleet[W]) Store() *memory.Store { return f.memory }

// OwnerOf returns the instance whose worker runs the key under a valid term; empty where there is none.
func (f *Fleet[W]) OwnerOf(key string) instance.ID {
	f.t.Helper()
	if !slices.ContainsFunc(f.workloads(), func(w coordinator.Workload[W]) bool { return w.Key == key }) {
		f.t.Errorf("OwnerOf: the catalogue has no workload %q", key)
	}
	return f.witness.owner(key)
}

// Owners returns OwnerOf for every key that has an owner.
func (f *Fleet[W]) Owners() map[string]instance.ID { return f.witness.owners() }

// Running returns the keys that an instance owns, sorted.
func (f *Fleet[W]) Running(id instance.ID) []string {
	var out []string
	for key, owner := range f.witness.owners() {
		if owner == id {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// Starts returns how often the work of the key was called so far, in the whole fleet.
func (f *Fleet[W]) Starts(key string) int { return f.witness.startsOf(key) }

func (f *Fleet[W]) workloads() []coordinator.Workload[W] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.catalogue
}

func (f *Fleet[W]) all() []*member[W] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.members)
}

func (f *Fleet[W]) find(id instance.ID) *member[W] {
	for _, m := range f.all() {
		if m.id == id {
			return m
		}
	}
	return nil
}

// cleanup ends what still runs.
func (f *Fleet[W]) cleanup() {
	f.t.Helper()
	if !inBubble() {
		f.t.Errorf("the fleet was made with the t from outside its bubble: pass NewFleet the t that synctest.Test gives to its function")
		return
	}
	for _, m := range f.all() {
		m.stop()
		m.clock.resume()
		m.gate.end()
		m.faults.end()
	}
	for _, m := range f.all() {
		switch err := m.wait(); {
		case errors.Is(err, runner.ErrStuck) && m.is(killed):
			f.t.Errorf("%s was killed, but its worker goes on for ever, which no killed process does: make it return when its context ends: %v", m.id, err)
		case err != nil:
			f.t.Errorf("Run of %s: %v", m.id, err)
		}
	}
	_ = f.memory.Close() // always nil
}
