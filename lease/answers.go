package lease

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/internal/fault"
)

// answer is what came of a request.
type answer struct {
	request
	in           Incarnation
	numbered     bool // in is filled: the operation answers an incarnation
	grant        Grant
	renewal      Renewal
	verification Verification
	err          error
	took         time.Duration
	heard        chan error // receives what became of it, for Hold.Check; nil for others
}

// ask makes the store call of r, bounded by r.limit whatever the store does.
func (k *Keeper) ask(ctx context.Context, r request) answer {
	m, s := k.manager, r.session.Session
	a, err := call.Do(ctx, &k.gates[r.lane], r.op, r.limit, func(ctx context.Context) (a answer, err error) {
		switch r.op {
		case "OpenSession":
			a.in, err = m.OpenSession(ctx, s)
			a.numbered = true
		case "Renew":
			a.renewal, err = m.Renew(ctx, s)
			a.in, a.numbered = a.renewal.Incarnation, true
		case "Acquire":
			keys := make([]string, len(r.entries))
			for i, e := range r.entries {
				keys[i] = e.key
			}
			a.grant, err = m.Acquire(ctx, s, keys)
			a.in, a.numbered = a.grant.Incarnation, true
		case "Verify":
			a.verification, err = m.Verify(ctx, s, r.leases)
			a.in, a.numbered = a.verification.Incarnation, true
		case "Release":
			err = m.Release(ctx, s, r.leases)
		case "CloseSession":
			err = m.CloseSession(ctx, s)
		}
		return a, err
	})
	a.request, a.err, a.took = r, err, k.line.Now()-r.sent
	return a
}

// apply draws the consequences of an answer. The loop calls it.
func (k *Keeper) apply(a answer) {
	k.emitCall(CallEvent{Op: a.op, Err: a.err, Took: a.took})
	k.mu.Lock()
	left := time.Duration(a.session.deadline.Load()) - k.line.Now()
	err := k.settle(a)
	if a.lane == laneRenew {
		k.noteRenew(a, left)
	}
	k.mu.Unlock()
	if a.heard != nil {
		a.heard <- err
	}
}

// errOutdated is what an answer amounts to that proves nothing: as if it had been lost.
var errOutdated = fault.Unavailable("an outdated answer", nil)

// settle returns the answer's error, or ErrUnavailable where it proves nothing. The mutex is held.
func (k *Keeper) settle(a answer) error {
	now := k.line.Now()
	// A term whose deadline has passed is over, whatever this answer says.
	k.expire(now)
	if a.session != k.session {
		return errOutdated // of a session that is no longer the current one
	}
	if a.lane < lanes {
		k.lanes[a.lane].busy = false
	}
	if errors.Is(a.err, ErrSessionLapsed) {
		k.dropSession(ReasonExpired)
		return a.err
	}
	if a.err == nil && a.numbered && !k.enter(a.in, now) {
		a.err = errOutdated // of an earlier incarnation
	}
	if a.err != nil {
		k.failed(a, now)
		return a.err
	}
	if a.lane < lanes {
		l := &k.lanes[a.lane]
		l.wait, l.at, l.most = 0, now, min(2*l.limit(), mostKeys)
	}
	k.use(a, now)
	return nil
}

// use draws the consequences of an answer that counts. The mutex is held.
func (k *Keeper) use(a answer, now time.Duration) {
	switch a.op {
	case "OpenSession":
		k.opened(a, now)
	case "Renew":
		k.renewed(a)
	case "Acquire":
		k.acquired(a, now)
	case "Verify":
		k.verified(a)
	case "Release":
		done := k.releases[:k.releasing]
		k.releases, k.releasing = append([]pending(nil), k.releases[k.releasing:]...), 0
		for _, p := range done {
			k.letGone(p)
		}
	}
}

// enter notes the incarnation of an answer and reports whether the answer counts.
func (k *Keeper) enter(in Incarnation, now time.Duration) bool {
	if in.Number < k.incarnation {
		return false
	}
	k.frozenUntil = now + in.FrozenFor
	if in.Number > k.incarnation {
		k.begun(in, now)
	}
	switch {
	case in.FrozenFor > 0:
		k.thawing = true // also where the freeze was lengthened after it had ended
	case k.thawing:
		k.thawing = false
		k.releaseAgain()
	}
	return true
}

// begun is the first sight of a new incarnation.
func (k *Keeper) begun(in Incarnation, now time.Duration) {
	switch held := len(k.holds); {
	case held > 0:
		k.logs(func(l *slog.Logger) {
			l.Warn("the store began a new incarnation; proving every lease again", "incarnation", in.Number, "held", held, "frozenFor", in.FrozenFor)
		})
	case in.FrozenFor > 0:
		k.logs(func(l *slog.Logger) {
			l.Warn("the store is new, or has lost its data: it grants nothing until holders had time to prove what they hold; a new one is spared this by Provision",
				"incarnation", in.Number, "frozenFor", in.FrozenFor)
		})
	}
	k.thawing = k.incarnation != 0
	k.incarnation = in.Number
	for _, h := range k.holds {
		// Not proven here: it keeps the deadline that it has, until it is verified.
		h.fixed.Store(int64(h.deadline()))
		k.suspect[h] = struct{}{}
	}
	k.lanes[laneVerify].at = now
}

// failed schedules another try of what got no usable answer.
func (k *Keeper) failed(a answer, now time.Duration) {
	unknown := !errors.Is(a.err, ErrInvalid) && !errors.Is(a.err, ErrClosed) && !errors.Is(a.err, ErrReadOnlyStore)
	k.logs(func(l *slog.Logger) { l.Warn("store call failed", "op", a.op, "error", a.err, "took", a.took) })
	if a.lane >= lanes {
		return
	}
	lane := &k.lanes[a.lane]
	lane.wait = k.timing.backoff(lane.wait)
	if unknown {
		lane.most = max(1, max(len(a.entries), len(a.leases))/2)
	}
	lane.at = now + k.spread(lane.wait)
	if a.lane == laneRelease {
		k.releasing = 0
	}
	for _, e := range a.entries {
		e.asking = false
		if unknown {
			e.unsettled = true
			e.late = now + k.timing.LeaseTTL
		}
		e.nextTry = lane.at
		k.reschedule(e)
	}
}

func (k *Keeper) opened(a answer, now time.Duration) {
	deadline := a.sent + k.timing.LeaseTTL - k.timing.Margin
	if now >= deadline {
		k.dropSession(ReasonUnreachable) // the answer took longer than the session lives
		return
	}
	a.session.open = true
	a.session.deadline.Store(int64(deadline))
	k.lanes[laneRenew].at = a.sent + k.spread(k.timing.RenewInterval)
	k.lanes[laneVerify].at = k.rotateAt(a.sent)
}

func (k *Keeper) renewed(a answer) {
	old := a.session.deadline.Load()
	for _, l := range a.renewal.Unknown {
		if h := k.live(l); h != nil {
			h.fixed.CompareAndSwap(0, old)
			k.suspect[h] = struct{}{}
		} else {
			k.end(l.Key, l.Token) // its grant is on its way still, and this renewal would extend it
		}
	}
	if len(a.renewal.Unknown) > 0 {
		k.doubts++ // a Verify that was sent before says nothing of what this renewal missed
	}
	if a.renewal.Revision != a.session.revision {
		a.session.revision = a.renewal.Revision
		k.suspectAll(old)
	}
	// It never moves back: answers may come in another order than their requests were sent.
	a.session.deadline.Store(max(old, int64(a.sent+k.timing.LeaseTTL-k.timing.Margin)))
	k.lanes[laneRenew].at = a.sent + k.spread(k.timing.RenewInterval)
	for _, l := range a.renewal.Lost {
		if h := k.live(l.Lease); h != nil {
			k.lose(h, l.Reason)
		} else {
			k.end(l.Lease.Key, l.Lease.Token) // also where its grant is on its way still
		}
	}
	for _, h := range slices.Backward(k.holds) { // downwards, since a lost one's place is taken by the last
		if h.passed.Load() {
			k.lose(h, ReasonUnreachable) // somebody saw its deadline pass before this answer came
		}
	}
}

// suspectAll has every live term verified before the rotation goes on. One of them was revoked,
// and others may have its key from the expiry as it stood then: until a term is verified, it ends
// at the deadline that it had before the renewal that told.
func (k *Keeper) suspectAll(deadline int64) {
	k.doubts++
	for _, h := range k.holds {
		h.fixed.CompareAndSwap(0, deadline)
		k.suspect[h] = struct{}{}
	}
	k.lanes[laneVerify].at = 0
}

// live returns the live term of exactly this lease, if there is one.
func (k *Keeper) live(l Lease) *Hold {
	e := k.entries[l.Key]
	if e == nil || e.hold == nil || e.hold.lease.Token != l.Token || e.hold.over.Load() != nil {
		return nil
	}
	return e.hold
}

func (k *Keeper) verified(a answer) {
	for _, l := range a.verification.Lost {
		if h := k.live(l.Lease); h != nil {
			k.lose(h, l.Reason)
		}
	}
	for _, h := range a.holds {
		if h.over.Load() == nil && a.doubts == k.doubts {
			h.fixed.Store(0) // proven here: it follows its session again
			delete(k.suspect, h)
		}
	}
	if a.lane == laneVerify && len(k.suspect) == 0 {
		k.lanes[laneVerify].at = k.rotateAt(a.sent)
	}
}

func (k *Keeper) acquired(a answer, now time.Duration) {
	lapses := make(map[string]Lapse, len(a.grant.Lapses))
	for _, l := range a.grant.Lapses {
		lapses[l.Key] = l
	}
	for _, l := range a.grant.Leases {
		if e := k.entries[l.Key]; e != nil && e.asking {
			e.asking = false
			e.answered(a.sent)
			e.lapsed(lapses[l.Key], now)
			k.granted(e, l, a.session, now)
		}
	}
	for _, r := range a.grant.Refused {
		if e := k.entries[r.Key]; e != nil && e.asking {
			e.asking = false
			e.answered(a.sent)
			e.nextTry = now + min(max(r.RetryAfter, time.Millisecond), farOff)
			e.seen(r.Owner, e.nextTry)
			if e.missed {
				e.hinted(now)
			}
			if c := e.claim; c != nil && e.contending {
				k.notices = append(k.notices, func() { c.claimant.Refused(r) })
			}
			e.rest(now)
			k.reschedule(e)
		}
	}
	for _, e := range a.entries {
		if e.asking { // the store answered for fewer keys than it was asked
			e.asking, e.unsettled = false, true
			e.nextTry = now + k.timing.RenewInterval
			k.reschedule(e)
		}
	}
}

// granted begins a term, or gives back what nobody wants any more.
func (k *Keeper) granted(e *entry, l Lease, s *session, now time.Duration) {
	if !e.contending || e.claim == nil || l.Token <= k.newestEnded(e.key) {
		k.end(e.key, l.Token)
		e.strays++
		e.nextTry = now + k.timing.RenewInterval/4
		k.releases = append(k.releases, pending{lease: l, entry: e})
		k.reschedule(e)
		return
	}
	h := &Hold{keeper: k, entry: e, lease: l, session: s, pos: len(k.holds)}
	e.hold, e.contending = h, false
	k.holds = append(k.holds, h)
	k.reschedule(e)
	c := e.claim
	k.notices = append(k.notices, func() { c.claimant.Granted(h) })
	k.emitTerm(TermEvent{Kind: TermGranted, Lease: l, At: k.clock.Now(), Before: e.before(now)})
	k.logs(func(lg *slog.Logger) { lg.Info("lease granted", "lease", l) })
}

// noteRenew tells of an answer that has been settled. Left is what its session had left before. The mutex is held.
func (k *Keeper) noteRenew(a answer, left time.Duration) {
	if len(k.observe.renew) == 0 {
		return
	}
	e := RenewEvent{
		Owner: k.owner, Session: a.session.ID, Opening: a.op == "OpenSession", At: k.clock.Now(), Err: a.err, Took: a.took,
		Left: max(left, 0), Of: k.timing.LeaseTTL - k.timing.Margin, Held: len(k.holds), Incarnation: a.in.Number,
	}
	if a.session == k.session && a.session.open {
		e.Until = e.At.Add(time.Duration(a.session.deadline.Load()) - k.line.Now())
	}
	k.emitRenew(e)
}

// check is Hold.Check: a Verify of one lease, applied like any other.
func (k *Keeper) check(ctx context.Context, h *Hold) error {
	left := h.Left()
	if left <= 0 {
		k.poke()
		if err := h.Err(); err != nil {
			return err
		}
		return &LostError{Lease: h.lease, Reason: ReasonUnreachable}
	}
	r := request{op: "Verify", lane: besideCheck, session: h.session, sent: k.line.Now(), limit: min(left, k.timing.CallTimeout), holds: []*Hold{h}, leases: []Lease{h.lease}}
	k.mu.Lock()
	r.doubts = k.doubts
	k.mu.Unlock()
	a := k.ask(ctx, r)
	a.heard = make(chan error, 1)
	err := errOutdated // unless the answer can still be used
	select {
	case k.answers <- a:
		err = <-a.heard
	case <-k.done:
	case <-ctx.Done():
		err = fault.Unavailable("Verify", context.Cause(ctx))
	}
	if err := h.Err(); err != nil {
		return err
	}
	if !h.Valid() {
		return &LostError{Lease: h.lease, Reason: ReasonUnreachable}
	}
	return err
}
