package lease

import (
	"context"
	"sync/atomic"
	"time"
)

// Hold is one term of ownership, from the grant to its end. It is safe for concurrent use.
type Hold struct {
	keeper  *Keeper
	entry   *entry
	lease   Lease
	session *session

	// over is set once, before anyone is told, and never unset: a term that ended never comes back.
	over atomic.Pointer[LostError]
	// fixed is the deadline while the lease is not proven in the present incarnation; 0 means that
	// it follows its session's. Renewals extend only what is proven.
	fixed atomic.Int64
	// passed is set by whoever sees the deadline pass, so that no answer which comes at that very moment makes
	// the term valid again. The keeper ends it at the latest with the next renewal.
	passed atomic.Bool

	// Guarded by the keeper's mutex.
	pos       int  // index in keeper.holds while live
	releasing bool // Release was called
}

// Lease returns the lease. It never changes during a term.
func (h *Hold) Lease() Lease { return h.lease }

// Valid reports whether work may go on. It is local, costs no I/O, and counts time that the
// machine slept. False is final.
func (h *Hold) Valid() bool { return h.over.Load() == nil && h.Left() > 0 }

// Left returns how long the term still lasts without another renewal; 0 or less when it is over.
func (h *Hold) Left() time.Duration {
	if h.over.Load() != nil || h.passed.Load() {
		return 0
	}
	left := h.deadline() - h.keeper.line.Now()
	if left <= 0 {
		h.passed.Store(true)
	}
	return left
}

func (h *Hold) deadline() time.Duration {
	if d := h.fixed.Load(); d != 0 {
		return time.Duration(d)
	}
	return time.Duration(h.session.deadline.Load())
}

// Err returns nil while the term lasts, then the *LostError that ended it. After Release by its
// holder the reason is ReasonStopped.
func (h *Hold) Err() error {
	if e := h.over.Load(); e != nil {
		return e
	}
	return nil
}

// Check asks the store whether the lease is still held. Nil: held now, and locally valid. A
// *LostError: the term is over. ErrUnavailable: unknown; Valid still tells what is safe.
// It extends nothing and is bounded by the keeper's call timeout.
func (h *Hold) Check(ctx context.Context) error { return h.keeper.check(ctx, h) }

// Release ends the term: call it once the worker has returned, whatever ended it, and never
// before. It does not block; Claimant.Released follows when the store has let go, or when the
// session is over anyway. Calling it again has no effect.
func (h *Hold) Release() { h.keeper.release(h) }
