//go:build unix

package filestore

import (
	"maps"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// data is all that the store knows. Times are µs of the store's clock, Clock.
type data struct {
	Clock int64  // never goes back
	Floor uint64 // the highest token granted

	Sessions map[string]int64       // expiry; one that is over is remembered, so that it cannot come back
	Leases   map[string]lease.Lease // the last one of each key; without a session it was let go

	Generation registry.Generation
	Members    map[instance.ID]member

	Statuses map[string]status.Record
	Lives    map[instance.ID]int64 // until when an owner's statuses live
}

type member struct {
	registry.Member
	Expires int64
}

func newData() *data {
	return &data{
		Sessions: map[string]int64{}, Leases: map[string]lease.Lease{}, Members: map[instance.ID]member{},
		Statuses: map[string]status.Record{}, Lives: map[instance.ID]int64{},
	}
}

// after returns the store's time in ttl from now, rounded up.
func (d *data) after(ttl time.Duration) int64 {
	return d.Clock + int64((ttl+time.Microsecond-1)/time.Microsecond)
}

// left returns how long it is until then; 0 or less: it is over.
func (d *data) left(then int64) time.Duration { return time.Duration(then-d.Clock) * time.Microsecond }

// stamp is the store's time as a time.Time.
func (d *data) stamp() time.Time { return time.UnixMicro(d.Clock).UTC() }

// sweep drops what is over for good. Sessions are remembered for MaxTTL beyond their end, leases of
// forgotten sessions are not needed: the floor keeps tokens growing.
func (d *data) sweep() {
	maps.DeleteFunc(d.Sessions, func(_ string, ends int64) bool { return d.left(ends) < -lease.DefaultMaxTTL })
	maps.DeleteFunc(d.Leases, func(_ string, l lease.Lease) bool { _, known := d.Sessions[l.Session]; return !known })
	for id, m := range d.Members {
		if d.left(m.Expires) <= 0 {
			delete(d.Members, id)
			d.turn()
		}
	}
	maps.DeleteFunc(d.Statuses, func(_ string, r status.Record) bool { return d.left(d.Lives[r.Owner]) <= 0 })
	maps.DeleteFunc(d.Lives, func(_ instance.ID, ends int64) bool { return d.left(ends) <= 0 })
}

// turn begins a generation of the membership.
func (d *data) turn() { d.Generation = max(d.Generation+1, registry.Generation(d.Clock)) }
