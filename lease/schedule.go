package lease

import (
	"container/heap"
	"time"
)

// The kinds of store calls. One of each is in flight at most, so that a hanging one holds up
// neither the others nor, once it has been abandoned, its own successor.
const (
	laneRenew = iota // OpenSession, then Renew
	laneAcquire
	laneVerify
	laneRelease
	lanes
	// Calls outside the lanes: any number of Check, and a CloseSession that nobody waits for.
	besideCheck = iota - 1
	besideClose
	kinds
)

// lane is the state of one kind of call.
type lane struct {
	busy bool
	at   time.Duration // not before
	wait time.Duration // present backoff, 0 after a success
	// most is how many keys one call may have: half of what a call had that got no answer, twice as
	// many after each success, so that a slow store is asked for no more than it can do in time. 0: mostKeys.
	most int
}

func (l *lane) limit() int {
	if l.most == 0 {
		return mostKeys
	}
	return l.most
}

// mostKeys bounds one call, so that its answer comes well within the call timeout and the first
// keys need not wait for the last.
const mostKeys = 1000

// request is one store call that is due.
type request struct {
	op      string // opTrip: a Renew, and a Verify of the leases if there are any
	lane    int    // or besideCheck, besideClose
	session *session
	sent    time.Duration
	limit   time.Duration
	entries []*entry // of an Acquire
	holds   []*Hold  // of a Verify
	leases  []Lease  // of a Release or a Verify
	doubts  uint64   // Keeper.doubts when it was sent
}

// due returns the calls to send now and marks their lanes busy. The mutex is held.
func (k *Keeper) due(now time.Duration) []request {
	if k.session == nil {
		if len(k.queue) == 0 || k.queue[0].nextTry > now || k.lanes[laneRenew].at > now {
			return nil
		}
		k.session = &session{Session: NewSession(k.owner, k.timing.LeaseTTL), begun: now}
	}
	s := k.session
	var out []request
	add := func(r request) {
		r.session, r.sent, r.limit, r.doubts = s, now, k.timing.CallTimeout, k.doubts
		if s.open {
			r.limit = min(r.limit, time.Duration(s.deadline.Load())-now)
		}
		k.lanes[r.lane].busy = true
		out = append(out, r)
	}
	free := func(l int) bool { return !k.lanes[l].busy && k.lanes[l].at <= now }
	if !s.open {
		if free(laneRenew) {
			add(request{op: "OpenSession", lane: laneRenew})
		}
		return out
	}
	if k.idle(now) {
		// Nothing hangs off it: it serves what is tried while it has time enough left, and lapses
		// unrenewed. To close it would hint to every waiter of the fleet that something may be free,
		// and each refused try would then close a session in turn, without end.
		if now >= k.useless(s) {
			k.session = nil
			k.lanes = [lanes]lane{}
		}
		return out
	}
	if free(laneRenew) {
		add(k.renewal())
	}
	if free(laneRelease) && len(k.releases) > 0 {
		k.releasing = min(len(k.releases), k.lanes[laneRelease].limit())
		leases := make([]Lease, k.releasing)
		for i, p := range k.releases[:k.releasing] {
			leases[i] = p.lease
		}
		add(request{op: "Release", lane: laneRelease, leases: leases})
	}
	if free(laneAcquire) && len(k.queue) > 0 && k.queue[0].nextTry <= now {
		add(request{op: "Acquire", lane: laneAcquire, entries: k.takeDue(now)})
	}
	if free(laneVerify) && len(k.holds) > 0 {
		if holds := k.toVerify(); len(holds) > 0 {
			add(request{op: "Verify", lane: laneVerify, holds: holds, leases: leasesOf(holds)})
		}
	}
	return out
}

// useless is when an idle session has too little left for another call.
func (k *Keeper) useless(s *session) time.Duration {
	return time.Duration(s.deadline.Load()) - k.timing.CallTimeout
}

// idle reports whether the session serves nothing now.
func (k *Keeper) idle(now time.Duration) bool {
	if len(k.holds) > 0 || len(k.releases) > 0 || k.lanes[laneAcquire].busy {
		return false
	}
	if len(k.queue) > 0 && k.queue[0].nextTry <= now {
		return false
	}
	for _, e := range k.entries {
		// A lost term whose worker has not returned still wants its release.
		if e.unsettled || e.late > 0 || e.strays > 0 || e.hold != nil && e.hold.session == k.session {
			return false
		}
	}
	return true
}

// takeDue takes the entries whose time has come out of the queue.
func (k *Keeper) takeDue(now time.Duration) []*entry {
	var out []*entry
	for len(k.queue) > 0 && k.queue[0].nextTry <= now && len(out) < k.lanes[laneAcquire].limit() {
		e := heap.Pop(&k.queue).(*entry)
		e.asking, e.missed, e.lastTry = true, false, now
		out = append(out, e)
	}
	k.asked = out
	return out
}

// toVerify returns the suspects, or else the next slice of the rotation.
func (k *Keeper) toVerify() []*Hold {
	most := k.lanes[laneVerify].limit()
	if len(k.suspect) > 0 {
		out := make([]*Hold, 0, min(len(k.suspect), most))
		for h := range k.suspect {
			if len(out) == most {
				break
			}
			out = append(out, h)
		}
		return out
	}
	n := min(len(k.holds), k.slice, most)
	out := make([]*Hold, 0, n)
	for range n {
		// Downwards, since a retired term's place is taken by the last one: none is skipped.
		if k.cursor <= 0 || k.cursor > len(k.holds) {
			k.cursor = len(k.holds)
		}
		k.cursor--
		out = append(out, k.holds[k.cursor])
	}
	return out
}

func leasesOf(holds []*Hold) []Lease {
	out := make([]Lease, len(holds))
	for i, h := range holds {
		out[i] = h.lease
	}
	return out
}

// until returns how long from now nothing needs doing. The mutex is held.
func (k *Keeper) until(now time.Duration) time.Duration {
	next := now + time.Hour
	at := func(t time.Duration) { next = min(next, t) }
	lane := func(l int, t time.Duration) {
		if !k.lanes[l].busy {
			at(max(t, k.lanes[l].at))
		}
	}
	s := k.session
	if s == nil || !s.open {
		if len(k.queue) > 0 {
			lane(laneRenew, k.queue[0].nextTry)
		} else if s != nil {
			lane(laneRenew, now)
		}
		return max(next-now, 0)
	}
	at(time.Duration(s.deadline.Load()))
	if k.idle(now) {
		at(k.useless(s))
	} else {
		lane(laneRenew, now)
	}
	if len(k.queue) > 0 {
		lane(laneAcquire, k.queue[0].nextTry)
	}
	if len(k.releases) > 0 {
		lane(laneRelease, now)
	}
	if len(k.holds) > 0 {
		lane(laneVerify, now)
		if p := k.clock.SleepPoll(); p > 0 {
			at(now + p)
		}
	}
	for h := range k.suspect {
		at(h.deadline())
	}
	return max(next-now, 0)
}

// spread returns d moved by up to the jitter to either side.
func (k *Keeper) spread(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*k.timing.Jitter*(2*k.clock.Float64()-1))
}
