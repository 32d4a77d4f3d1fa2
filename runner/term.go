package runner

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// Holder is what a term needs to know of its lease; *lease.Hold is one.
type Holder interface {
	// Lease never changes during a term.
	Lease() lease.Lease
	// Valid and Left are local. False and 0 are final.
	Valid() bool
	Left() time.Duration
	// Check asks the store.
	Check(ctx context.Context) error
}

var _ Holder = (*lease.Hold)(nil)

// Term is one stretch of ownership as the worker sees it. It is safe for concurrent use and may be
// kept longer than the work: it is not valid any more once the work has returned.
type Term struct {
	holder   Holder
	draining <-chan struct{}
	ended    atomic.Bool
}

// NewTerm makes a term over any holder, for tests of a Work and for engines of one's own. A nil
// draining means that no drain ever begins.
func NewTerm(h Holder, draining <-chan struct{}) *Term {
	return &Term{holder: h, draining: draining}
}

// Key returns the key that is held.
func (t *Term) Key() string { return t.holder.Lease().Key }

// Token returns the fencing token. Pass it along with every write that must not come from an
// earlier owner: per key it only ever grows, so that the guarded resource can refuse a lower one.
func (t *Term) Token() uint64 { return t.holder.Lease().Token }

// Lease returns the lease.
func (t *Term) Lease() lease.Lease { return t.holder.Lease() }

// Draining is closed when the work should wind down: finish what is in flight, take nothing new,
// return. The lease is kept meanwhile; after DrainTimeout the context ends with drain.ErrTimeout.
func (t *Term) Draining() <-chan struct{} { return t.draining }

// Valid reports whether the key is still held and the work has not returned. It is local, costs
// no I/O, and counts time that the machine slept. False is final.
func (t *Term) Valid() bool { return !t.ended.Load() && t.holder.Valid() }

// Left returns how long the term still lasts without another renewal; 0 or less when it is over.
func (t *Term) Left() time.Duration {
	if t.ended.Load() {
		return 0
	}
	return t.holder.Left()
}

// Check asks the store whether the key is still held. Nil: held now, and valid locally. A
// *lease.LostError: the term is over. lease.ErrUnavailable: unknown; Valid still tells what is safe.
func (t *Term) Check(ctx context.Context) error {
	if t.ended.Load() {
		return &lease.LostError{Lease: t.holder.Lease(), Reason: lease.ReasonStopped}
	}
	return t.holder.Check(ctx)
}
