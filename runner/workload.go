package runner

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// workload is one key of a set, and its keeper's claimant.
type workload struct {
	set   *Set
	spec  Spec
	claim *lease.Claim

	// run is the present term, from its grant until the key is let go; nil on standby.
	run atomic.Pointer[run]
	// holder is who held the key when it was last refused.
	holder atomic.Pointer[instance.ID]

	// Guarded by the set's mutex.
	state    State
	since    time.Time
	stopping bool // end and forget
	yielding bool // after this term, let someone else have the key
	finished bool // the work is done: do not contend again

	retryAt    time.Duration // not before: backoff
	yieldUntil time.Duration // not before: stepped down
	due        time.Duration // of the timer
	heapPos    int           // in Set.timers, or -1

	token    uint64
	terms    int
	streak   int // failures in a row
	failures int
	lastErr  error
	last     *WorkEvent // nil before the first term has ended: most run their first
}

// run is one term as the engine sees it; Term is the part that the work sees.
type run struct {
	Term
	hold   *lease.Hold
	ctx    context.Context
	cancel context.CancelCauseFunc
	drain  chan struct{}

	// Guarded by the set's mutex.
	gone      chan struct{} // closed when the key was let go; made for those who wait
	working   bool          // the work has not returned
	winding   bool          // the drain has begun
	forced    bool          // cancelled at the drain timeout
	stuck     bool
	releasing bool
	lost      *lease.LostError
	err       error
	why       End
	began     time.Duration
	started   time.Time
	ran       time.Duration
	ending    time.Duration // when the end began; negative until then
}

func newRun(ctx context.Context, h *lease.Hold) *run {
	r := &run{hold: h, drain: make(chan struct{}), ending: -1}
	r.holder, r.draining = h, r.drain
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// loss says that the term is over though its holder did not give it up; nil where it is not. The deadline
// may have passed without the keeper's notice yet, while the work saw that in Term.Valid.
func (r *run) loss() *lease.LostError {
	lost, _ := errors.AsType[*lease.LostError](r.hold.Err())
	if lost == nil && !r.hold.Valid() {
		lost = &lease.LostError{Lease: r.hold.Lease(), Reason: lease.ReasonUnreachable}
	}
	return lost
}

// close tells those who wait for the end of the term. The set's mutex is held.
func (r *run) close() {
	if r.gone != nil {
		close(r.gone)
		r.gone = nil
	}
}

// Granted, Lost, Refused and Released are the keeper's callbacks. They stop the work where it must
// stop, which waits for nothing, and leave the rest to the loop.

// Granted begins a term.
func (w *workload) Granted(h *lease.Hold) { w.set.post(func() { w.set.granted(w, h) }) }

// Lost cancels the work at once.
func (w *workload) Lost(h *lease.Hold, why *lease.LostError) {
	if r := w.run.Load(); r != nil && r.hold == h {
		r.cancel(why)
	}
	w.set.post(func() { w.set.lost(w, h, why) })
}

// Refused notes who holds the key; the keeper tries again by itself.
func (w *workload) Refused(r lease.Refusal) {
	if old := w.holder.Load(); old == nil || *old != r.Owner {
		w.holder.Store(&r.Owner)
	}
}

// Released ends a term.
func (w *workload) Released(h *lease.Hold) { w.set.post(func() { w.set.released(w, h) }) }

// work is the worker's goroutine.
func (s *Set) work(w *workload, r *run) {
	err := ErrExited // unless the work returns or panics
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
		r.ended.Store(true)
		r.cancel(nil)
		s.post(func() { s.returned(w, r, err) })
	}()
	err = w.spec.Work(r.ctx, &r.Term)
}

// requestDrain tells the user's Drainable, which may block.
func (s *Set) requestDrain(w *workload) {
	defer func() {
		p := recover()
		s.post(func() { s.requested(w, p) })
	}()
	w.spec.Drainable.RequestDrain()
}

// failure returns what of the work's error counts as one: an error that only says that the context
// was cancelled, or why, is none where it was.
func (r *run) failure(err error) error {
	if err == nil {
		return nil
	}
	if _, panicked := errors.AsType[*PanicError](err); panicked {
		return err
	}
	stopped := r.lost != nil || r.forced
	if stopped && (errors.Is(err, context.Canceled) || errors.Is(err, lease.ErrLost) || errors.Is(err, drain.ErrTimeout)) {
		return nil
	}
	if r.winding && errors.Is(err, drain.ErrDraining) {
		return nil
	}
	return err
}

// end says how the term's work ended, given its failure.
func (r *run) end() End {
	_, panicked := errors.AsType[*PanicError](r.err)
	switch {
	case r.lost != nil:
		return EndLost
	case r.why != "":
		return r.why
	case panicked:
		return EndPanicked
	case r.err != nil:
		return EndFailed
	}
	return EndReturned
}

// contendsAt is when the key may be contended for again.
func (w *workload) contendsAt() time.Duration { return max(w.retryAt, w.yieldUntil) }
