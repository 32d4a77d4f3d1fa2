package lease

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/internal/call"
)

// errRunning is returned by a second Run.
var errRunning = errors.New("tenure: the keeper's Run was called already; make a new keeper")

// Run keeps the session and drives the claims until ctx ends. No store error ends it. When ctx
// ends, terms that are still live are lost (ReasonStopped), so drain the workers first; then
// everything is released with a fresh, bounded context, except that the session of a worker that
// has not returned is left to lapse. Run returns nil, or an error when it was called before.
func (k *Keeper) Run(ctx context.Context) error {
	k.mu.Lock()
	if k.running {
		k.mu.Unlock()
		return errRunning
	}
	k.running = true
	k.mu.Unlock()

	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	side := make(chan struct{}, 2)
	go func() { k.events.Run(calls); side <- struct{}{} }()
	go func() { k.watch(calls); side <- struct{}{} }()
	k.logs(func(l *slog.Logger) { l.Info("keeper started", "owner", k.owner, "timing", k.timing) })

	timer := k.clock.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Reset(k.step(calls))
		select {
		case <-ctx.Done():
		case <-k.wake:
		case <-timer.C():
		case a := <-k.answers:
			k.apply(a)
		}
	}
	k.shutdown()
	cancel()
	close(k.done)
	// Both end promptly unless user code hangs; that must not hang the caller.
	timer.Reset(k.timing.CallTimeout)
	for range 2 {
		select {
		case <-side:
		case <-timer.C():
			return nil
		}
	}
	return nil
}

// step ends what is over, sends what is due, tells claimants, and returns how long nothing needs doing.
func (k *Keeper) step(ctx context.Context) time.Duration {
	k.mu.Lock()
	now := k.line.Now()
	k.expire(now)
	calls := k.due(now)
	wait := k.until(now)
	k.announce(now)
	k.mu.Unlock()
	k.tell() // workers are stopped before the store is spoken to
	for _, c := range calls {
		go k.send(ctx, c)
	}
	return wait
}

// send makes one store call, or one trip, and hands the answers to the loop.
func (k *Keeper) send(ctx context.Context, c request) {
	if c.op == opTrip {
		k.carry(ctx, c)
		return
	}
	k.hand(k.ask(ctx, c))
}

func (k *Keeper) hand(a answer) {
	select {
	case k.answers <- a:
	case <-k.done:
	}
}

// expire ends every term whose deadline has passed. The mutex is held.
func (k *Keeper) expire(now time.Duration) {
	for h := range k.suspect {
		if now >= h.deadline() {
			k.lose(h, ReasonUnreachable)
		}
	}
	if s := k.session; s != nil && s.open && now >= time.Duration(s.deadline.Load()) {
		k.dropSession(ReasonUnreachable)
	}
}

// dropSession forgets the session and ends all that hung off it. The mutex is held.
func (k *Keeper) dropSession(why Reason) {
	for len(k.holds) > 0 {
		k.lose(k.holds[len(k.holds)-1], why)
	}
	// What was asked or released under it is settled: the store lets it all go with the session.
	for _, p := range k.releases {
		k.letGone(p)
	}
	k.releases, k.releasing = nil, 0
	for _, e := range k.entries {
		e.asking, e.unsettled, e.late = false, false, 0
		k.reschedule(e)
	}
	begun := k.session.begun
	k.session = nil
	open := k.lanes[laneRenew]
	k.lanes = [lanes]lane{}
	// A store that lets each session lapse at once is not asked for the next one in a tight loop.
	again := max(k.line.Now()+open.wait, begun+k.timing.backoff(0))
	k.lanes[laneRenew].wait, k.lanes[laneRenew].at = open.wait, again
}

// lose ends a live term that its holder did not give up. The mutex is held.
func (k *Keeper) lose(h *Hold, why Reason) {
	lost := &LostError{Lease: h.lease, Reason: why}
	if !h.over.CompareAndSwap(nil, lost) {
		return
	}
	k.retire(h)
	k.emitTerm(TermEvent{Kind: TermLost, Lease: h.lease, At: k.clock.Now(), Reason: why})
	k.logs(func(l *slog.Logger) { l.Warn("lease lost", "lease", h.lease, "reason", string(why)) })
	if c := h.entry.claim; c != nil {
		k.notices = append(k.notices, func() { c.claimant.Lost(h, lost) })
	} else {
		k.letGo(h)
	}
}

// retire takes a term out of the live ones and remembers that its token has ended. The mutex is held.
func (k *Keeper) retire(h *Hold) {
	last := len(k.holds) - 1
	k.holds[h.pos] = k.holds[last]
	k.holds[h.pos].pos = h.pos
	k.holds[last] = nil
	k.holds = k.holds[:last]
	delete(k.suspect, h)
	k.end(h.lease.Key, h.lease.Token)
}

// endedFor is how long at least a token that ended is remembered for a key that is not claimed any
// more: far longer than an answer can be on its way while its session lives. Claimed keys keep theirs.
const endedFor = time.Hour

// end remembers that a token of the key has ended. The mutex is held.
func (k *Keeper) end(key string, token uint64) {
	if now := k.line.Now(); now-k.turned >= endedFor {
		last := k.ended
		k.ended = map[string]uint64{}
		for key := range k.entries {
			if t := max(last[key], k.before[key]); t > 0 {
				k.ended[key] = t
			}
		}
		k.before, k.turned = last, now
	}
	k.ended[key] = max(k.newestEnded(key), token)
}

// newestEnded returns the newest token of the key that is known to have ended. The mutex is held.
func (k *Keeper) newestEnded(key string) uint64 { return max(k.ended[key], k.before[key]) }

// release is Hold.Release.
func (k *Keeper) release(h *Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.letGo(h)
	k.poke()
}

// letGo queues the release of a term whose worker has returned. The mutex is held.
func (k *Keeper) letGo(h *Hold) {
	if h.releasing {
		return
	}
	h.releasing = true
	// The token counts as ended before its release is sent.
	if h.over.CompareAndSwap(nil, &LostError{Lease: h.lease, Reason: ReasonStopped}) {
		k.retire(h)
	}
	p := pending{lease: h.lease, entry: h.entry, hold: h}
	if h.session == k.session && !k.stopped {
		k.releases = append(k.releases, p)
	} else {
		k.letGone(p)
	}
}

// letGone finishes a release. The mutex is held.
func (k *Keeper) letGone(p pending) {
	e := p.entry
	if p.hold == nil {
		e.strays--
		e.rest(k.line.Now())
	} else {
		e.rest(k.line.Now())
		e.hold = nil
		k.emitTerm(TermEvent{Kind: TermReleased, Lease: p.lease, At: k.clock.Now()})
		if c := e.claim; c != nil {
			k.notices = append(k.notices, func() { c.claimant.Released(p.hold) })
		}
	}
	k.reschedule(e)
}

// shutdown ends every term and lets go of what may be let go.
func (k *Keeper) shutdown() {
	k.mu.Lock()
	for len(k.holds) > 0 {
		k.lose(k.holds[len(k.holds)-1], ReasonStopped)
	}
	k.mu.Unlock()
	k.tell() // whoever has no worker running releases now
	k.mu.Lock()
	k.stopped = true
	s, releases := k.session, k.releases
	k.session, k.releases, k.releasing = nil, nil, 0
	stuck := false
	for _, e := range k.entries {
		stuck = stuck || e.hold != nil && !e.hold.releasing
	}
	for _, p := range releases {
		k.letGone(p)
	}
	k.mu.Unlock()
	if s != nil {
		k.farewell(s, releases, stuck)
	}
	k.tell()
}

// tell calls claimants with what has been noted for them.
func (k *Keeper) tell() {
	k.mu.Lock()
	notices := k.notices
	k.notices = nil
	k.mu.Unlock()
	for _, n := range notices {
		n()
	}
}

// farewell tells the store, under a context of its own: the caller's has ended.
func (k *Keeper) farewell(s *session, releases []pending, stuck bool) {
	_, _ = call.Do(context.Background(), &k.gates[besideClose], "farewell", k.timing.CallTimeout, func(ctx context.Context) (struct{}, error) {
		if !stuck {
			return struct{}{}, k.manager.CloseSession(ctx, s.Session)
		}
		// A worker still runs: its lease must lapse by itself, never be released.
		leases := make([]Lease, 0, len(releases))
		for _, p := range releases {
			leases = append(leases, p.lease)
		}
		if len(leases) == 0 {
			return struct{}{}, nil
		}
		return struct{}{}, k.manager.Release(ctx, s.Session, leases)
	})
}
