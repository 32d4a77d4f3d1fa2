package runner

import (
	"context"
	"errors"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// Runner (tenure.LeasedWorkerRunner) runs one workload on at most one process of the fleet: a Set of
// one. Make one with New and call Run; it is safe for concurrent use.
type Runner struct {
	set  *Set
	spec Spec
}

// New returns a runner of the spec's workload for the owner, with leases in m. It does no I/O.
// Errors match lease.ErrInvalid and name the field.
func New(m lease.Manager, owner instance.ID, spec Spec, cfg Config) (*Runner, error) {
	spec, err := spec.check()
	if err != nil {
		return nil, err
	}
	set, err := NewSet(m, owner, cfg)
	if err != nil {
		return nil, err
	}
	return &Runner{set: set, spec: spec}, nil
}

// Run contends for the key and runs the work whenever it is won, until one of these:
//
//   - ctx ends: the work is wound down, and Run returns nil (under Never, the error of work that
//     failed while it was wound down).
//   - BeginDrain was called: the same. A runner that drains already returns nil without contending.
//   - The work is finished (see Restart): nil. Other processes of the fleet know nothing of that and
//     will run the work in their turn.
//   - The work failed under Never: its error.
//   - The work did not return within DrainTimeout + HardStop after ctx ended: a *StuckError.
//
// No store error ends it. It may be called again once it has returned, but not while a stuck worker
// lives.
func (r *Runner) Run(ctx context.Context) error {
	switch err := r.set.Start(r.spec); {
	case errors.Is(err, drain.ErrDraining):
		return nil
	case errors.Is(err, lease.ErrHeldHere), errors.Is(err, lease.ErrStopped):
		return ErrRunning
	case err != nil:
		return err
	}
	if err := r.set.drive(ctx, true); err != nil {
		return err
	}
	if r.set.cfg.Restart == Never {
		return r.Info().LastErr
	}
	return nil
}

// StepDown winds the present term down and lets someone else have the key: this runner does not
// contend for it until another was seen holding it, or one LeaseTTL has passed. It returns nil when
// the key has been let go, at once where no work runs here, or the error of a ctx that ended before;
// the step-down goes on then. The work may call it, but not wait for it: use a context that has ended.
func (r *Runner) StepDown(ctx context.Context) error {
	gone := r.set.stepDown(r.spec.Key)
	if gone == nil {
		return nil
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// BeginDrain winds the work down for good: Run returns nil when it has, and contends no more. It
// does not block and may be called at any time, repeatedly. It always returns nil.
func (r *Runner) BeginDrain(context.Context) error {
	r.set.DrainAll()
	return nil
}

// Drained is closed once BeginDrain was called and the key has been let go.
func (r *Runner) Drained() <-chan struct{} { return r.set.Drained() }

// Running returns the key while its work runs or its lease is not yet let go, and nothing otherwise.
func (r *Runner) Running() []string { return r.set.Running() }

// Info returns a snapshot. Before and after Run its State is Stopped, unless a stuck worker lives.
func (r *Runner) Info() Info {
	r.set.mu.Lock()
	defer r.set.mu.Unlock()
	if w := r.set.workloads[r.spec.Key]; w != nil {
		return r.set.info(w)
	}
	if r.set.left.Key != "" {
		return r.set.left
	}
	return Info{Key: r.spec.Key, Name: r.spec.Name, State: Stopped}
}

// State returns where the workload stands in this process.
func (r *Runner) State() State { return r.Info().State }

// Held reports whether this process holds the key and its work runs: is it the leader? It is
// local. Use the term's token for writes, since an answer may be outdated when it is used.
func (r *Runner) Held() bool {
	_, held := r.Lease()
	return held
}

// Lease returns the lease under which the work runs here now, where it is locally valid: what a handler of the
// leader needs to pass its token along. It is local.
func (r *Runner) Lease() (lease.Lease, bool) {
	r.set.mu.Lock()
	defer r.set.mu.Unlock()
	return r.set.lease(r.spec.Key)
}

// LeaseState returns a snapshot of the runner's session.
func (r *Runner) LeaseState() lease.State { return r.set.LeaseState() }
