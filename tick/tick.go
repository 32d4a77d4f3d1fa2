// Package tick is an optional contract of a store: what one instance has to say once per interval travels in
// one round trip.
//
// An instance renews its session, verifies a slice of its leases, beats, and extends its statuses, each once per
// interval. To a store that implements [Ticker] the engines send these together, as the parts of one Tick; to
// any other they make four calls. A part means what the call of its name means, answer for answer; only the way is shared.
//
// A type that embeds a store and overrides one of its calls has the store's Tick all the same, which goes past the
// override. Such a wrapper overrides Tick as well: [Each] makes the parts out of the wrapper's own calls.
package tick

import (
	"context"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// Ticker is an optional capability of a store that implements the three contracts, found by assertion.
//
// Tick carries the parts that are there to the store in one round trip, in the order of the fields of [Parts], and
// answers each by itself: done, refused or unknown, as the call of that name does, with the same answer and the
// same errors. A part that fails or is refused holds up no other. Parts are not one transaction: where the trip
// is cut short, some may have happened, and those that are not known to have are ErrUnavailable. All is safe
// to send twice, in one trip or in calls. Arguments of a part are checked before any I/O, and a bad part is refused
// alone. Once ctx has ended Tick returns promptly, and every part that was not answered is ErrUnavailable.
// A Tick without parts does nothing.
type Ticker interface {
	Tick(ctx context.Context, p Parts) Answers
}

// Parts are what travels together; nil is a part that does not.
type Parts struct {
	Renew     *Renew
	Verify    *Verify
	Heartbeat *Heartbeat
	PutStatus *PutStatus
}

// Renew holds the arguments of lease.Manager's Renew.
type Renew struct {
	Session lease.Session
}

// Verify holds the arguments of lease.Manager's Verify. After a Renew of the same trip it sees the session renewed.
type Verify struct {
	Session lease.Session
	Leases  []lease.Lease
}

// Heartbeat holds the arguments of registry.Registry's Heartbeat.
type Heartbeat struct {
	Self  registry.Self
	TTL   time.Duration
	Known registry.Generation
}

// PutStatus holds the arguments of status.Store's PutStatus.
type PutStatus struct {
	Owner   instance.ID
	TTL     time.Duration
	Records []status.Record
}

// Answers has the answer of each part; zero for one that was not sent.
type Answers struct {
	Renew     Answer[lease.Renewal]
	Verify    Answer[lease.Verification]
	Heartbeat Answer[registry.View]
	PutStatus error
}

// Answer is what a call returns.
type Answer[T any] struct {
	Value T
	Err   error
}

// Store has the calls that a trip is made of.
type Store interface {
	lease.Manager
	registry.Registry
	status.Store
}

// Each makes the calls of s one after another, until ctx has ended. It is the meaning of a Tick in code: enough for a
// store to which a round trip costs nothing, and for a wrapper whose own calls must be seen.
func Each(ctx context.Context, s Store, p Parts) (a Answers) {
	ended := func() error {
		if ctx.Err() == nil {
			return nil
		}
		return fault.Unavailable("Tick", ctx.Err())
	}
	if r := p.Renew; r != nil {
		if a.Renew.Err = ended(); a.Renew.Err == nil {
			a.Renew.Value, a.Renew.Err = s.Renew(ctx, r.Session)
		}
	}
	if v := p.Verify; v != nil {
		if a.Verify.Err = ended(); a.Verify.Err == nil {
			a.Verify.Value, a.Verify.Err = s.Verify(ctx, v.Session, v.Leases)
		}
	}
	if b := p.Heartbeat; b != nil {
		if a.Heartbeat.Err = ended(); a.Heartbeat.Err == nil {
			a.Heartbeat.Value, a.Heartbeat.Err = s.Heartbeat(ctx, b.Self, b.TTL, b.Known)
		}
	}
	if put := p.PutStatus; put != nil {
		if a.PutStatus = ended(); a.PutStatus == nil {
			a.PutStatus = s.PutStatus(ctx, put.Owner, put.TTL, put.Records)
		}
	}
	return a
}

// Fail has every part of p answered with err.
func (p Parts) Fail(err error) (a Answers) {
	if p.Renew != nil {
		a.Renew.Err = err
	}
	if p.Verify != nil {
		a.Verify.Err = err
	}
	if p.Heartbeat != nil {
		a.Heartbeat.Err = err
	}
	if p.PutStatus != nil {
		a.PutStatus = err
	}
	return a
}
