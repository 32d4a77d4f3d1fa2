package tenuretest

import (
	"context"
	"fmt"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// Term returns the term that the work runs under.
func (j *Job) Term() *runner.Term { return j.term }

// Context returns the context that the work was given; context.Cause of it says why it ended.
func (j *Job) Context() context.Context { return j.ctx }

// Done is closed when the work has returned.
func (j *Job) Done() <-chan struct{} { return j.returned }

// Faults returns what goes wrong between the job's runner and its store. A Cut that lasts ends
// the term at its local deadline (lease.ReasonUnreachable).
func (j *Job) Faults() *Faults { return j.faults }

// Drain asks the work to wind down, as a shutdown, a reassignment or a step-down does, and
// returns when term.Draining is closed. The lease is kept; when DrainTimeout has passed the work's context
// ends with drain.ErrTimeout.
func (j *Job) Drain() {
	j.t.Helper()
	j.mustLast("Drain")
	_ = j.runner.BeginDrain(context.Background()) // always nil
	j.await(j.term.Draining(), "Drain: term.Draining is not closed")
}

// Lose makes the store say that the job's session has lapsed, and returns when the work's context has
// ended with that as its cause (lease.ErrLost, for lease.ReasonExpired). From then on others may
// be granted the key: see Next.
func (j *Job) Lose() {
	j.t.Helper()
	j.mustLast("Lose")
	j.lapse()
	j.notice("Lose")
}

// Revoke has an operator revoke the lease, and returns when the work's context has ended with
// that as its cause (lease.ErrLost, for lease.ReasonRevoked).
func (j *Job) Revoke() {
	j.t.Helper()
	j.mustLast("Revoke")
	if err := j.memory.Revoke(context.Background(), j.cfg.Key); err != nil {
		j.t.Fatalf("Revoke: %v", err)
	}
	j.notice("Revoke")
}

// Wait waits until the work has returned and its key was let go, and returns what the work
// returned: for a panic a *runner.PanicError, and runner.ErrExited for a runtime.Goexit, such as
// that of t.FailNow. The test fails after Patience.
func (j *Job) Wait() error {
	j.t.Helper()
	j.mu.Lock()
	j.looked = true
	j.mu.Unlock()
	j.await(j.returned, "Wait: the work has not returned")
	j.await(j.ended, "Wait: the work has returned, but its runner has not let go of the key")
	return j.err
}

// Outcome waits as Wait does, and returns what the runner makes of the term's end: whether the work was
// cancelled, and whether what it returned counts as a failure, which is tried again after a wait.
func (j *Job) Outcome() runner.WorkEvent {
	j.t.Helper()
	_ = j.Wait()
	return j.runner.Info().Last
}

// Next starts the same work under the next term, as another process does that was granted the key: its
// token is higher. The present term must be over, but its work need not have returned: one that goes on
// after it was lost is what fencing tokens are for.
func (j *Job) Next() *Job {
	j.t.Helper()
	if j.term.Valid() {
		j.t.Fatalf("Next: the term of %q still lasts, so nobody else can be granted the key: Drain it and Wait, or Lose it, first", j.cfg.Key)
	}
	return start(j.t, j.work, j.cfg, j.memory)
}

// mustLast fails the test unless the term still lasts.
func (j *Job) mustLast(what string) {
	j.t.Helper()
	select {
	case <-j.returned:
		j.t.Fatalf("%s: the work of %q has returned by itself before: %s", what, j.cfg.Key, verdict(j.err))
	default:
	}
	if j.ctx.Err() != nil {
		j.t.Fatalf("%s: the term of %q is over already: %v", what, j.cfg.Key, context.Cause(j.ctx))
	}
}

// lapse ends the job's session in the store, behind the back of its keeper.
func (j *Job) lapse() {
	j.t.Helper()
	l := j.term.Lease()
	s := lease.Session{ID: l.Session, Owner: l.Owner, TTL: j.cfg.Timing.LeaseTTL}
	if err := j.memory.CloseSession(context.Background(), s); err != nil {
		j.t.Errorf("the session of %q could not be ended: %v", j.cfg.Key, err)
	}
}

// notice has the keeper ask the store, and waits until the work was told.
func (j *Job) notice(what string) {
	j.t.Helper()
	err := j.term.Check(context.Background())
	if j.term.Valid() {
		j.t.Fatalf("%s: the lease of %q is gone, but the job cannot learn of it from a store that answers %v; Heal its faults first, or let its deadline pass",
			what, j.cfg.Key, err)
	}
	j.await(j.ctx.Done(), what+": the context of the work has not ended")
}

// verdict describes what a work returned.
func verdict(err error) string {
	if err == nil {
		return "it returned nil"
	}
	return fmt.Sprintf("it returned %q", err)
}
