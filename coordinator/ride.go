package coordinator

import (
	"time"

	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/tick"
)

// ride is how the next heartbeat may travel with a renewal. Only the regular one does: what a hint, an expiry or a
// mark asks for goes at once and alone, and so does another try after a failure.
type ride struct {
	until   time.Duration // how long it may wait for a trip that is announced, by its own schedule; 0: it may not
	offered bool          // it is on the board, or was taken along and not answered yet
}

// hurry sets when the next heartbeat is due, by itself.
func (b *beating) hurry(at time.Duration) { b.at, b.ride.until = at, 0 }

// nextBeat draws when the next regular heartbeat is due. Where a trip is announced it may wait for that until the
// latest time that it could have drawn.
func (l *loop) nextBeat() {
	b, t := &l.beat, l.e.timing
	b.at = b.sent + l.e.spread(t.HeartbeatInterval)
	b.ride.until = b.sent + t.HeartbeatInterval + time.Duration(float64(t.HeartbeatInterval)*max(t.Jitter, 0)) + 1
}

// offerBeat offers the next heartbeat to the trips of which the following one may be too late for it.
func (l *loop) offerBeat(now time.Duration) {
	b, e := &l.beat, l.e
	if b.ride.offered || b.ride.until == 0 || l.leaving || !e.trips.To(e.store.Registry) {
		return
	}
	b.ride.offered = true
	between := e.timing.RenewInterval + time.Duration(float64(e.timing.RenewInterval)*max(e.timing.Jitter, 0))
	self, sent := l.selfNow(), now
	e.trips.Beat.Put(e.trips, max(b.ride.until-between-now, 0), tick.Offer[tick.Heartbeat, registry.View]{
		Part:   tick.Heartbeat{Self: self, TTL: e.timing.HeartbeatTTL, Known: b.known},
		Leaves: func() { sent = e.line.Now() },
		Answer: func(v registry.View, err error) {
			took := e.line.Now() - sent
			l.arrived <- func() {
				b.lane.busy, b.ride.offered = false, false
				b.sent = sent
				l.beaten(self, v, took, err)
			}
		},
	})
}

// carried reports whether the heartbeat that is due need not be sent: a trip will take it in time, or has taken it.
func (l *loop) carried(now time.Duration) bool {
	b := &l.beat
	if b.ride.offered && now < b.ride.until && l.e.trips.Within(b.ride.until-now) {
		b.at = b.ride.until
		return true
	}
	urgent := b.ride.until == 0
	l.board()
	if b.lane.busy && urgent {
		b.again = true // what is under way may be older than what made this one urgent
	}
	return b.lane.busy
}

// board takes the offered heartbeat back. One that was taken along is under way.
func (l *loop) board() {
	b := &l.beat
	if b.ride.offered && !l.e.trips.Beat.Withdraw() {
		b.lane.busy = true
	}
	b.ride.offered = b.lane.busy && b.ride.offered
}
