package lease

import (
	"context"
	"time"
)

// opTrip is a request that is a Renew and more.
const opTrip = "Tick"

// trips reports whether the next renewal takes along what else is due. What is repeated after a failure goes
// alone, so that a part of a trip which hangs or fails costs a renewal one try and no more.
func (k *Keeper) trips() bool { return k.carrier != nil && k.lanes[laneRenew].wait == 0 }

// rotates reports whether the next slice of the rotation may travel with a renewal. Suspects are not put off, nor mixed with it.
func (k *Keeper) rotates() bool {
	l := &k.lanes[laneVerify]
	return !l.busy && l.wait == 0 && len(k.suspect) == 0 && len(k.holds) > 0
}

// renewal is the next Renew, or a trip that is more than that.
func (k *Keeper) renewal() request {
	r := request{op: "Renew", lane: laneRenew}
	if k.trips() {
		r.op = opTrip
	}
	if r.op == opTrip && k.rotates() {
		k.lanes[laneVerify].busy = true
		r.holds = k.toVerify()
		r.leases = leasesOf(r.holds)
	}
	return r
}

// rotateAt is when the slice after the one that was sent then is due by itself. With trips that is the latest
// time at which the next one leaves, and then some: it travels with a renewal unless those fail.
func (k *Keeper) rotateAt(sent time.Duration) time.Duration {
	if k.carrier == nil {
		return sent + k.spread(k.timing.RenewInterval)
	}
	return sent + k.timing.renewMost() + 1
}

// announce tells when the next trip leaves, for those who would go with it, whenever that has changed. The mutex is held.
func (k *Keeper) announce(now time.Duration) {
	if k.carrier == nil {
		return
	}
	l := &k.lanes[laneRenew]
	if l.busy {
		k.announced = notTold
		return // a trip that is due is announced until it has taken along what is offered
	}
	at := noTrip
	if s := k.session; s != nil && s.open && len(k.holds) > 0 && k.trips() {
		at = l.at
	}
	if at == k.announced {
		return
	}
	k.announced = at
	if at != noTrip {
		at = max(at-now, 0)
	}
	k.carrier.Announce(at)
}

// What was announced, where it is no time: nothing as yet, or that no trip leaves for all that is known.
const (
	notTold time.Duration = -2
	noTrip  time.Duration = -1
)

// carry makes a trip. The answers of its parts are as of calls of their own.
func (k *Keeper) carry(ctx context.Context, r request) {
	c := k.carrier.Carry(ctx, &k.gates[r.lane], r.limit, r.session.Session, r.leases)
	renew, verify := r, r
	renew.op, renew.holds, renew.leases = "Renew", nil, nil
	verify.op, verify.lane = "Verify", laneVerify
	took := k.line.Now() - r.sent
	k.hand(answer{request: renew, renewal: c.Renewal, in: c.Renewal.Incarnation, numbered: true, err: c.RenewErr, took: took})
	if v := c.Verification; len(r.leases) > 0 {
		k.hand(answer{request: verify, verification: v, in: v.Incarnation, numbered: true, err: c.VerifyErr, took: took})
	}
}
