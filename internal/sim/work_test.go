package sim

import (
	"context"
	"errors"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// errSick is the failure of work that fails by itself.
var errSick = errors.New("sim: the work has failed")

// shift is one call of a work. Its own goroutine owns what has no comment.
type shift struct {
	p      *process
	client *client
	term   *runner.Term
	lease  lease.Lease
	ctx    context.Context
	began  time.Duration // on the machine's line
	plan   shiftPlan

	drained time.Duration // when the drain was seen; negative until then
	asked   time.Duration // when it last began to ask the store: a drain may have begun since, unseen
}

// shiftPlan is how a shift behaves.
type shiftPlan struct {
	fails  time.Duration // by itself, after this long; 0: never
	panics bool
	finish time.Duration // how long it takes to finish what is in flight
	deaf   time.Duration // how long it ignores its cancellation
	looks  time.Duration // how often it looks at its term
	checks bool          // and asks the store
}

func (w *world) planShift(key string, n int) shiftPlan {
	d := dice(w.s.Seed).of("work " + key).nth(n)
	p := shiftPlan{
		finish: d.of("finish").between(0, w.timing.DrainTimeout/2),
		looks:  d.of("looks").between(400*time.Millisecond, 1200*time.Millisecond),
		checks: d.of("checks").chance(.3),
	}
	if w.calm() {
		return p
	}
	if d.of("slow").chance(.1) {
		p.finish = d.of("finish").between(0, 2*w.timing.DrainTimeout)
	}
	if d.of("sick").chance(w.s.Sick) {
		p.fails = d.of("fails").between(50*time.Millisecond, 3*ttl)
		p.panics = d.of("panics").chance(.2)
	}
	if d.of("deaf").chance(w.s.Deaf) {
		p.deaf = d.of("deaf for").between(0, 8*w.timing.HardStop)
		p.finish = 2 * w.timing.DrainTimeout // so that it is cancelled
	}
	return p
}

// work is what every workload does: nothing, carefully.
func (p *process) work(ctx context.Context, term *runner.Term, c *client) error {
	s := &shift{p: p, client: c, term: term, lease: term.Lease(), ctx: ctx, began: p.clock.line(), drained: -1, asked: -1}
	s.plan = p.w.enter(s)
	defer p.w.exit(s)
	t := p.clock.NewTimer(s.wait())
	defer t.Stop()
	draining := term.Draining()
	for {
		select {
		case <-draining:
			draining = nil
			s.sees()
			p.w.checkDrain(s)
		case <-ctx.Done():
			return s.cancelled()
		case <-p.dead:
			return errDead
		case <-t.C():
		}
		now := p.clock.line()
		switch {
		case s.drained >= 0 && now >= s.drained+s.plan.finish:
			if took := now - s.drained; s.asked < 0 && took > p.w.timing.DrainTimeout+reaction && ctx.Err() == nil && p.awake() && time.Since(p.since()) > 2*took {
				p.w.fail("S5", "%s: %q may finish for %v after its drain began", p.id, s.lease.Key, took)
			}
			return nil
		case s.drained < 0 && s.plan.fails > 0 && now >= s.began+s.plan.fails && !p.w.calm():
			p.w.count("failures")
			if s.plan.panics {
				panic(errSick)
			}
			return errSick
		}
		if !p.w.s.Quiet {
			p.w.checkShift(s)
			s.check()
		}
		t.Reset(s.wait())
	}
}

// sees notes that the drain has begun: now, or while the work was asking the store.
func (s *shift) sees() {
	if s.drained = s.asked; s.asked < 0 {
		s.drained = s.p.clock.line()
	}
}

// wait is how long the work has nothing to do.
func (s *shift) wait() time.Duration {
	now, next := s.p.clock.line(), s.plan.looks
	if s.drained >= 0 {
		next = min(next, s.drained+s.plan.finish-now)
	} else if s.plan.fails > 0 {
		next = min(next, max(s.began+s.plan.fails-now, s.plan.looks/8))
	}
	return max(next, time.Microsecond)
}

// check asks the store, and holds the answer to what is known.
func (s *shift) check() {
	if !s.plan.checks || s.drained >= 0 {
		return
	}
	s.asked = s.p.clock.line()
	err := s.term.Check(s.ctx)
	select {
	case <-s.term.Draining():
	default:
		s.asked = -1
	}
	if errors.Is(err, lease.ErrLost) && s.term.Valid() {
		s.p.w.fail("S9", "%s: Check of %q says %v, and the term goes on", s.p.id, s.lease.Key, err)
	}
}

// cancelled holds the end of the context to its cause.
func (s *shift) cancelled() error {
	w, now, cause := s.p.w, s.p.clock.line(), context.Cause(s.ctx)
	if s.drained < 0 {
		select {
		case <-s.term.Draining():
			s.sees() // both at once
		default:
		}
	}
	var lost *lease.LostError
	switch {
	case errors.As(cause, &lost):
		w.count("losses")
		until, doubted := s.client.model.trusts(s.lease)
		if left := until - now; lost.Reason == lease.ReasonUnreachable && !doubted && left > time.Millisecond && s.p.alive() {
			w.fail("S3", "%s gives up %q as unreachable although its lease has %v left", s.p.id, s.lease.Key, left)
		}
		if s.term.Valid() {
			w.fail("S3", "%s: the context of %q has ended with %v, and the term is valid", s.p.id, s.lease.Key, cause)
		}
	case errors.Is(cause, drain.ErrTimeout):
		w.count("drain timeouts")
		if took := now - s.drained; (s.drained < 0 || took < w.timing.DrainTimeout-time.Millisecond) && s.p.awake() {
			w.fail("S5", "%s: %q is cancelled %v after its drain began", s.p.id, s.lease.Key, took)
		}
	default:
		w.fail("S5", "%s: %q is cancelled for the cause %v", s.p.id, s.lease.Key, cause)
	}
	if s.plan.deaf > 0 {
		t := s.p.clock.NewTimer(s.plan.deaf)
		defer t.Stop()
		select {
		case <-t.C():
		case <-s.p.dead:
		}
	}
	return cause
}
