package tick

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// Board is where the engines of one instance meet: the keeper's renewal is a trip, and who else has something
// to send offers it beforehand. Nobody waits for anybody: an offer is put up and taken down without a lock, and
// whoever is not carried in time goes alone. It is for the engines of this module.
type Board struct {
	ticker Ticker
	line   clock.Line
	next   atomic.Int64 // when the next trip leaves; negative: none is announced

	// Beat and Status are the seats of a trip, beside the renewal and the verification.
	Beat   Seat[Heartbeat, registry.View]
	Status Seat[PutStatus, struct{}]
}

// NewBoard returns a board for trips to m, or nil where m cannot make them.
func NewBoard(m lease.Manager, c clock.Clock) *Board {
	t, ok := m.(Ticker)
	if !ok {
		return nil
	}
	b := &Board{ticker: t, line: clock.NewLine(clock.Or(c))}
	b.next.Store(-1)
	return b
}

// To reports whether the trips of b go to store. Without a board there are none.
func (b *Board) To(store any) bool {
	if b == nil || store == nil {
		return false
	}
	x, y := reflect.ValueOf(b.ticker), reflect.ValueOf(store)
	return x.Type() == y.Type() && x.Comparable() && x.Equal(y)
}

// Announce tells when the next trip leaves: in that long, or not for all that is known where it is negative.
func (b *Board) Announce(in time.Duration) {
	if in >= 0 {
		in += b.line.Now()
	}
	b.next.Store(int64(in))
}

// Within reports whether a trip leaves within d.
func (b *Board) Within(d time.Duration) bool {
	next := time.Duration(b.next.Load())
	return next >= 0 && next <= b.line.Now()+d
}

// Carry implements lease.Carrier: it takes along what is offered, and tells those who offered it.
func (b *Board) Carry(ctx context.Context, g *call.Gate, limit time.Duration, s lease.Session, leases []lease.Lease) lease.Carried {
	now := b.line.Now()
	p := Parts{Renew: &Renew{s}}
	if len(leases) > 0 {
		p.Verify = &Verify{s, leases}
	}
	beat, put := b.Beat.take(now), b.Status.take(now)
	b.next.Store(-1) // that of this one; the keeper announces the next when it has heard of this
	if beat != nil {
		p.Heartbeat = &beat.Part
		// Who leaves the fleet must know that no heartbeat is on its way: it is told in time, even if the keeper ends.
		ctx = context.WithoutCancel(ctx)
	}
	if put != nil {
		p.PutStatus = &put.Part
	}
	a, err := call.Do(ctx, g, "Tick", limit, func(ctx context.Context) (Answers, error) { return b.ticker.Tick(ctx, p), nil })
	if err != nil {
		a = p.Fail(err)
	}
	if beat != nil {
		beat.Answer(a.Heartbeat.Value, a.Heartbeat.Err)
	}
	if put != nil {
		put.Answer(struct{}{}, a.PutStatus)
	}
	return lease.Carried{Renewal: a.Renew.Value, RenewErr: a.Renew.Err, Verification: a.Verify.Value, VerifyErr: a.Verify.Err}
}

// Seat is a place for one part of a trip. The zero value is ready.
type Seat[P, A any] struct{ offer atomic.Pointer[offered[P, A]] }

// Offer is a part that may be taken along.
type Offer[P, A any] struct {
	Part P
	// Leaves is called just before the trip is sent, and Answer with what came of the part, once each and one
	// after the other. They must not block.
	Leaves func()
	Answer func(A, error)
}

type offered[P, A any] struct {
	Offer[P, A]
	from time.Duration // no trip before takes it
}

// Put puts up an offer for the trips that leave in that long or later. The seat must be empty.
func (s *Seat[P, A]) Put(b *Board, in time.Duration, o Offer[P, A]) {
	s.offer.Store(&offered[P, A]{o, b.line.Now() + in})
}

// Withdraw takes the offer down, and reports whether it was there still: if not, it was taken along and will be answered.
func (s *Seat[P, A]) Withdraw() bool { return s.offer.Swap(nil) != nil }

func (s *Seat[P, A]) take(now time.Duration) *Offer[P, A] {
	o := s.offer.Load()
	if o == nil || o.from > now || !s.offer.CompareAndSwap(o, nil) {
		return nil
	}
	o.Leaves()
	return &o.Offer
}
