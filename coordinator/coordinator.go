package coordinator

import (
	"context"
	"slices"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// Work runs one workload for one term; see runner.Work for how ctx and term end, and what to return.
type Work[W any] func(ctx context.Context, term *runner.Term, w W) error

// Coordinator (tenure.WorkloadCoordinator) runs this instance's share of a catalogue of workloads.
// Make one with New and call Run. All methods are safe for concurrent use, before, during and after Run.
type Coordinator[W any] struct {
	e *engine
}

// New returns a coordinator for a catalogue, which may be empty at first. It does no I/O. Errors
// match lease.ErrInvalid and name the field, the value and the remedy.
func New[W any](store Store, catalogue []Workload[W], work func(ctx context.Context, term *runner.Term, w W) error, cfg Config) (*Coordinator[W], error) {
	if work == nil {
		return nil, fault.Invalid("work", "nil", "pass the function that does the work")
	}
	first, err := compile(catalogue)
	if err != nil {
		return nil, err
	}
	e, err := newEngine(store, first, cfg)
	if err != nil {
		return nil, err
	}
	e.work = func(ctx context.Context, term *runner.Term, value any) error {
		return work(ctx, term, *value.(*W))
	}
	return &Coordinator[W]{e: e}, nil
}

// Run joins the fleet and runs this instance's share until ctx ends. It then beats as leaving, so that
// the others take over what it lets go, drains every worker, and leaves when all have returned. It
// marks nobody as draining. No store error ends it.
//
// Run returns nil after a stop in good order; an error that matches runner.ErrStuck, DrainTimeout +
// HardStop after the stop at the latest, where workers have not returned; and at once an error that
// matches runner.ErrRunning, or ErrStopped, where Run was called before.
func (c *Coordinator[W]) Run(ctx context.Context) error { return c.e.run(ctx) }

// SetWorkloads replaces the catalogue. Workloads that are gone are wound down as in any drain, new
// ones are placed at once, the others run on undisturbed; other values take effect with a
// workload's next term. Where the new catalogue is refused nothing changes: the error matches
// lease.ErrInvalid and names the workload, such as a duplicate key.
func (c *Coordinator[W]) SetWorkloads(catalogue []Workload[W]) error {
	next, err := compile(catalogue)
	if err != nil {
		return err
	}
	c.e.setCatalogue(next)
	return nil
}

// BeginDrain takes this instance out of the fleet's active ones for the rest of its life: it takes
// nothing new from this moment on, winds down what it runs, and keeps its heartbeat. Run goes on until
// its context ends. The error says that the store could not be told (yet): the drain has begun
// all the same, and every heartbeat tells the store again. Calling it again tells the store once more.
func (c *Coordinator[W]) BeginDrain(ctx context.Context) error { return c.e.beginDrain(ctx) }

// IsDraining reports whether BeginDrain was called, or somebody marked this instance in the store.
func (c *Coordinator[W]) IsDraining() bool { return c.e.isDraining() }

// Drained is closed once a drain has begun and nothing runs here any more.
func (c *Coordinator[W]) Drained() <-chan struct{} { return c.e.set.Drained() }

// Running returns the keys whose work runs here, or whose lease is not yet let go, sorted. Planning
// for the fleet is not one of them.
func (c *Coordinator[W]) Running() []string {
	return slices.DeleteFunc(c.e.set.Running(), func(key string) bool { return key == plannerKey })
}

// Held returns the leases under which work runs here now and which are locally valid, ordered by key.
func (c *Coordinator[W]) Held() []lease.Lease { return c.e.terms.held() }

// Instance returns how this instance describes itself to the fleet.
func (c *Coordinator[W]) Instance() instance.Instance { return c.e.self.Clone() }

// Snapshot returns a copy of what this coordinator knows, for a page or a health check. It does no I/O.
func (c *Coordinator[W]) Snapshot() Snapshot { return c.e.snapshot() }
