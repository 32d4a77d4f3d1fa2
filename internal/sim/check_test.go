package sim

import (
	"context"
	"slices"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// reaction is how long an engine may take to act on what has happened: a term's end must be seen within 100 ms of
// a resume, and what is due at once needs no time at all.
const reaction = 150 * time.Millisecond

// noise is what a clock line does not take for sleep.
const noise = time.Millisecond

// enter notes that a work begins, and holds S1 and S2.
func (w *world) enter(s *shift) shiftPlan {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := s.lease.Key
	w.starts[key]++
	plan := w.planShift(key, w.starts[key])
	if !s.p.alive() {
		return plan
	}
	w.stats.counts["terms"]++
	w.noteLocked("%s works on %q with token %d", s.p.id, key, s.lease.Token)
	w.traceLocked("%s enter %s %d", key, s.p.id, s.lease.Token)
	for _, o := range w.open[key] {
		switch {
		case !o.p.alive():
		case o.term.Valid():
			w.failLocked("S1", "%q has two owners: %s begins with token %d while %s holds it with token %d for another %v",
				key, s.p.id, s.lease.Token, o.p.id, o.lease.Token, o.term.Left())
		case o.p.awake() && o.plan.deaf == 0:
			w.failLocked("S1", "%q has two workers: %s begins with token %d while %s has not returned (token %d, context %v)",
				key, s.p.id, s.lease.Token, o.p.id, o.lease.Token, o.ctx.Err())
		}
	}
	if s.lease.Token <= w.best[key] {
		w.failLocked("S2", "%s begins %q with token %d after %d", s.p.id, key, s.lease.Token, w.best[key])
	}
	w.best[key] = max(w.best[key], s.lease.Token)
	if key != leaderKey {
		if why := w.unwanted(s); why != "" {
			w.failLocked("S6", "%s takes %q though %s", s.p.id, key, why)
		}
	}
	s.p.ran[key] = true
	w.open[key] = append(w.open[key], s)
	return plan
}

// unwanted says why a process should not begin a workload that it has not run before; empty: it may. The mutex
// is held.
func (w *world) unwanted(s *shift) string {
	if s.p.ran[s.lease.Key] {
		return "" // its runner goes on after a failure or a loss
	}
	if f := s.p.link.unseen(w); f != nil {
		return "its heartbeats have failed for " + time.Since(f.began).String() + " (" + string(f.do) + ")"
	}
	return ""
}

// unseen returns the fault, if there is one, by which the process must know by now that its view of the fleet is outdated.
func (l *link) unseen(w *world) *window {
	f := l.fault(onRegistry)
	if f == nil || f.do == slow || time.Since(f.began) < 2*w.timing.HeartbeatInterval+w.timing.CallTimeout+time.Second {
		return nil
	}
	if !l.p.awake() || time.Since(l.p.since()) < 2*w.timing.HeartbeatTTL {
		return nil
	}
	return f
}

// since is when the process last went on.
func (p *process) since() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resumed
}

// exit notes that a work has returned.
func (w *world) exit(s *shift) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := s.lease.Key
	w.open[key] = slices.DeleteFunc(w.open[key], func(o *shift) bool { return o == s })
	if s.p.alive() {
		w.noteLocked("%s has returned from %q", s.p.id, key)
		w.traceLocked("%s exit %s", key, s.p.id)
	}
}

// shifts are those that are open.
func (w *world) shifts() (out []*shift) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.open {
		out = append(out, all...)
	}
	return out
}

// check looks at every term.
func (w *world) check() {
	for _, s := range w.shifts() {
		if s.p.alive() {
			w.checkShift(s)
		}
	}
	for _, p := range w.all {
		w.checkStop(p)
	}
}

// checkStop holds S7: a stop in any state returns. A process may need two calls to tell that it stops and two more to leave.
func (w *world) checkStop(p *process) {
	select {
	case <-p.done:
		return
	default:
	}
	p.mu.Lock()
	told, still, resumed := p.told, p.still, p.resumed
	p.mu.Unlock()
	bound := (w.timing.DrainTimeout + w.timing.HardStop + 4*w.timing.CallTimeout) * 9 / 8 // its clock may be slow
	if p.alive() && !told.IsZero() && !still && resumed.Before(told) && time.Since(told) > bound {
		w.fail("S7", "%s: Run has not returned %v after it was told to stop", p.id, time.Since(told))
	}
}

// checkShift holds S3: nothing is trusted for longer than the model of its holder allows, and nobody works on.
func (w *world) checkShift(s *shift) {
	until, _ := s.client.model.trusts(s.lease)
	left := until - s.p.clock.line()
	if !w.s.Quiet {
		if trusted := s.term.Left(); trusted > max(left, 0)+noise && left > -reaction {
			w.late(s, trusted, left)
		} else if trusted > 0 && left <= -reaction {
			w.fail("S3", "%s trusts its lease of %q for another %v, %v after its end", s.p.id, s.lease.Key, trusted, -left)
		}
	}
	if left < -reaction && s.ctx.Err() == nil && s.p.awake() {
		w.fail("S3", "%s works on %q %v after its lease ended", s.p.id, s.lease.Key, -left)
	}
}

// late is for a lease that is trusted for too long just now: an answer that refuses it may be on its way within the
// process at this very instant.
func (w *world) late(s *shift, trusted, left time.Duration) {
	until, doubted := s.client.model.trusts(s.lease)
	if until == 0 && doubted {
		return // over, said the store; if the engine does not hear it, it is found a reaction later
	}
	w.fail("S3", "%s trusts its lease of %q for %v, and may for %v", s.p.id, s.lease.Key, trusted, left)
}

// checkAcquire holds S4: a process does not contend for what still runs in it.
func (w *world) checkAcquire(p *process, keys []string) {
	for _, s := range w.shifts() {
		if s.p == p && p.alive() && slices.Contains(keys, s.lease.Key) {
			w.fail("S4", "%s acquires %q while its work has not returned", p.id, s.lease.Key)
		}
	}
}

// checkRelease holds S4: nothing is released under a running worker.
func (w *world) checkRelease(p *process, released func(lease.Lease) bool) {
	for _, s := range w.shifts() {
		if s.p == p && p.alive() && released(s.lease) {
			w.fail("S4", "%s releases %q while its work has not returned", p.id, s.lease.Key)
		}
	}
}

// checkDrain holds S5 and S6: who drains whom, and why.
func (w *world) checkDrain(s *shift) {
	p, key := s.p, s.lease.Key
	w.note("%s drains %q", p.id, key)
	w.count("drains")
	if !p.serves() || !w.listed(key) || time.Since(w.steppedDown(p)) < w.timing.CallTimeout+time.Second {
		return
	}
	if key == leaderKey {
		w.fail("S5", "%s drains %q though nobody asked", p.id, key)
		return
	}
	if f := p.link.unseen(w); f != nil {
		w.fail("S6", "%s drains %q though its heartbeats have failed for %v (%s)", p.id, key, time.Since(f.began), f.do)
	}
}

// checkBound holds S7: every call has an end.
func (w *world) checkBound(ctx context.Context, p *process, op string) {
	ends, ok := ctx.Deadline()
	if bound := time.Until(ends); p.alive() && (!ok || bound > w.timing.CallTimeout+time.Millisecond) {
		w.fail("S7", "%s: %s has no bound, or one of %v", p.id, op, bound)
	}
}

// checkMark holds S8: nobody is marked as draining but on purpose.
func (w *world) checkMark(p *process, draining bool, how string) {
	p.mu.Lock()
	marked := p.marked
	p.mu.Unlock()
	if draining && !marked {
		w.fail("S8", "%s marks itself as draining: %s", p.id, how)
	}
}
