package metrics

import (
	"errors"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// session is a session that this process has, or had.
type session struct {
	until time.Time // its local deadline
	terms int
}

// track is one key that this process contends for or holds.
type track struct {
	state runner.State // "" where no runner drives it
	live  bool         // a term was granted, and neither lost nor released
	lease lease.Lease  // of the present term, or the last
	began time.Time    // the present term, or the last

	// Of the present term, until its start is measured: the events of grant and start may come in either order.
	cause        string
	free         time.Duration
	active       time.Time
	activeToken  uint64
	startMeasure bool
}

// gone reports whether nothing is known of the key any more.
func (t *track) gone() bool { return !t.live && (t.state == "" || t.state == runner.Stopped) }

// track returns what is known of a key. The mutex is held.
func (o *Observer) track(key string) *track {
	t := o.tracks[key]
	if t == nil {
		t = &track{}
		o.tracks[key] = t
	}
	return t
}

// tidy forgets a key about which nothing is open. The mutex is held.
func (o *Observer) tidy(key string, t *track) {
	if t.gone() {
		delete(o.tracks, key)
	}
}

// ObserveRenew implements lease.RenewObserver.
func (o *Observer) ObserveRenew(e lease.RenewEvent) {
	o.mu.Lock()
	if e.Opening {
		for id, s := range o.sessions {
			if s.terms == 0 && e.At.After(s.until) {
				delete(o.sessions, id)
			}
		}
	}
	s := o.sessions[e.Session]
	switch {
	case s == nil && !e.Until.IsZero():
		o.sessions[e.Session] = &session{until: e.Until}
	case s != nil:
		s.until = e.Until
	}
	if e.Err == nil {
		o.inc, o.seen = max(o.inc, e.Incarnation), true
	}
	o.mu.Unlock()
	if e.Err == nil && !e.Opening && e.Of > 0 {
		o.record(renewMargin, e.Left.Seconds()/e.Of.Seconds())
	}
}

// ObserveTerm implements lease.TermObserver.
func (o *Observer) ObserveTerm(e lease.TermEvent) {
	switch e.Kind {
	case lease.TermGranted:
		o.granted(e)
	case lease.TermLost:
		o.ended(e, string(e.Reason))
	case lease.TermReleased:
		o.ended(e, released) // nothing, where it was lost before
	}
}

func (o *Observer) granted(e lease.TermEvent) {
	o.mu.Lock()
	cause, waited := o.fleet.arrives(e.Lease.Key)
	if e.Before.Owner != "" { // seen by the lease itself: that is surer than what a plan tells
		cause = handover
		if e.Before.Lapsed {
			cause = failover
		}
		waited = 0 // it was held meanwhile
	}
	t := o.track(e.Lease.Key)
	t.live, t.lease, t.began = true, e.Lease, e.At
	t.cause, t.free, t.startMeasure = cause, e.Before.Free, true
	if cause == failover {
		t.free += waited
	}
	s := o.sessions[e.Lease.Session]
	if s == nil {
		s = &session{} // its opening was not heard of
		o.sessions[e.Lease.Session] = s
	}
	s.terms++
	measure := o.started(t)
	o.mu.Unlock()
	o.add(termsStarted, cause)
	o.phase(cause, "acquire", e.Before.Free)
	measure()
}

func (o *Observer) ended(e lease.TermEvent, reason string) {
	o.mu.Lock()
	t := o.tracks[e.Lease.Key]
	was := t != nil && t.live && t.lease.Token == e.Lease.Token
	if was {
		t.live, t.startMeasure = false, false
		if s := o.sessions[t.lease.Session]; s != nil {
			s.terms--
		}
		o.tidy(e.Lease.Key, t)
	}
	o.mu.Unlock()
	if was {
		o.add(termsEnded, reason)
	}
}

// started measures the beginning of the work once both its grant and its start are known. The mutex is held; what
// is returned is called without it.
func (o *Observer) started(t *track) (measure func()) {
	if !t.startMeasure || t.active.IsZero() || t.activeToken != t.lease.Token {
		return func() {}
	}
	t.startMeasure = false
	cause, start, free := t.cause, max(t.active.Sub(t.began), 0), t.free
	return func() {
		o.phase(cause, "start", start)
		if cause != other {
			o.record(unownedDuration, (free + start).Seconds(), cause)
		}
	}
}

// phase records one phase of a handover or failover.
func (o *Observer) phase(cause, phase string, took time.Duration) {
	switch cause {
	case handover:
		o.record(handoverDuration, took.Seconds(), phase)
	case failover:
		o.record(failoverDuration, took.Seconds(), phase)
	}
}

// ObserveCall implements lease.CallObserver.
func (o *Observer) ObserveCall(e lease.CallEvent) { o.call(e.Op, e.Took, e.Err) }

func (o *Observer) call(op string, took time.Duration, err error) {
	o.add(calls, op, Outcome(err))
	o.record(callDuration, took.Seconds(), op)
}

// Outcome returns what became of a store call: "done", "refused" (nothing was done) or "unknown".
func Outcome(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, lease.ErrInvalid), errors.Is(err, lease.ErrClosed), errors.Is(err, lease.ErrReadOnlyStore),
		errors.Is(err, lease.ErrSessionLapsed):
		return "refused"
	}
	return "unknown"
}
