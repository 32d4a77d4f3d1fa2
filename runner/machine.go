package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// Every function here is one step of a workload's life. The set's mutex is held, and nothing here
// waits: no store call, no user code.

// enter changes the state and tells of it.
func (s *Set) enter(w *workload, to State) {
	from, now := w.state, s.clock.Now()
	if from == to {
		return
	}
	switch {
	case from == "":
		s.open++
	case to == Stopped:
		s.open--
	}
	var token uint64
	if r := w.run.Load(); r != nil {
		token = r.Token()
	}
	e := StateEvent{Key: w.spec.Key, Name: w.spec.Name, From: from, To: to, Token: token, At: now}
	if from != "" {
		e.In = now.Sub(w.since)
	}
	w.state, w.since = to, now
	tell(s, s.observe.state, StateObserver.ObserveState, e)
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if s.draining && s.open == 0 {
		s.closeDrained()
	}
}

// granted starts the work, unless it is not wanted any more or the term is over already.
func (s *Set) granted(w *workload, h *lease.Hold) {
	if s.workloads[w.spec.Key] != w || w.run.Load() != nil {
		h.Release()
		return
	}
	r := newRun(s.workCtx, h)
	w.run.Store(r) // before the look at h: either that or the callback sees the loss
	s.unreleased++
	now := s.line.Now()
	if !h.Valid() || s.stopping || now < w.contendsAt() {
		s.release(w, r)
		return
	}
	w.token = h.Lease().Token
	w.terms++
	r.working, r.began, r.started = true, now, s.clock.Now()
	s.working++
	s.enter(w, Active)
	s.logs(slog.LevelInfo, "work started", w.attrs()...)
	s.record(w, status.Active, w.spec.Info)
	go s.work(w, r)
}

// wind begins the drain of a term: signal, RequestDrain, status and deadline belong together.
func (s *Set) wind(w *workload, why End) {
	r := w.run.Load()
	if r == nil || !r.working || r.winding || r.lost != nil {
		return
	}
	r.winding, r.why, r.ending = true, why, s.line.Now()
	s.enter(w, Draining)
	close(r.drain)
	if w.spec.Drainable != nil {
		s.requests[w.spec.Key]++
		go s.requestDrain(w)
	}
	s.record(w, status.Transferring, w.spec.Info)
	s.arm(w, s.timing.DrainTimeout)
	s.logs(slog.LevelInfo, "draining", w.attrs(slog.String("why", string(why)), slog.Duration("timeout", s.timing.DrainTimeout))...)
}

// lost notes that the lease is gone. The work was cancelled before.
func (s *Set) lost(w *workload, h *lease.Hold, why *lease.LostError) {
	r := w.run.Load()
	if r == nil || r.hold != h || r.lost != nil || r.releasing {
		return
	}
	r.lost = why
	if why.Reason == lease.ReasonRevoked {
		w.yielding = true // an operator wants somebody else to have it
	}
	if !r.winding {
		r.ending = s.line.Now()
	}
	s.enter(w, Lost)
	s.logs(slog.LevelWarn, "lease lost", w.attrs(slog.String("reason", string(why.Reason)))...)
	if r.working && !r.forced {
		s.arm(w, s.timing.HardStop)
	}
}

// expired is called when the workload's timer fires.
func (s *Set) expired(w *workload) {
	r := w.run.Load()
	switch {
	case r == nil:
	case !r.working: // its last status could not be written in time
		s.release(w, r)
	case r.lost == nil && !r.forced:
		r.forced = true
		r.cancel(drain.ErrTimeout)
		s.arm(w, s.timing.HardStop)
		s.logs(slog.LevelWarn, "drain timeout: work cancelled", w.attrs(slog.Duration("timeout", s.timing.DrainTimeout))...)
	default:
		s.stuck(w, r)
	}
}

// stuck reports a worker that ignores its cancellation.
func (s *Set) stuck(w *workload, r *run) {
	if r.stuck {
		return
	}
	r.stuck = true
	s.logs(slog.LevelError, "work ignores its cancellation; its key is kept from everybody", w.attrs(slog.Duration("hardStop", s.timing.HardStop))...)
	tell(s, s.observe.stuck, StuckObserver.ObserveStuck, StuckEvent{Key: w.spec.Key, Name: w.spec.Name, Token: r.Token(), At: s.clock.Now()})
	if f := s.cfg.OnStuck; f != nil {
		s.alarms.Post(func() { f(w.spec.Key, &r.Term) })
	}
}

// returned ends the work of a term: decide what follows, write Inactive, then let go.
func (s *Set) returned(w *workload, r *run, err error) {
	now := s.line.Now()
	s.working--
	r.working, r.ran = false, now-r.began
	if lost := r.loss(); lost != nil {
		s.lost(w, r.hold, lost) // the work may be faster than the keeper's notice of the loss
	}
	if r.ending < 0 {
		r.ending = now
	}
	s.disarm(w)
	if r.stuck {
		r.stuck = false
		tell(s, s.observe.stuck, StuckObserver.ObserveStuck, StuckEvent{Key: w.spec.Key, Name: w.spec.Name, Token: r.Token(), Returned: true, At: s.clock.Now()})
	}
	r.err = r.failure(err)
	s.judge(w, r)
	if r.lost == nil {
		s.enter(w, Draining)
	}
	s.logReturn(w, r)
	if s.cfg.Status == nil {
		s.release(w, r)
		return
	}
	s.record(w, status.Inactive, lastWords(w.spec.Info, r.err))
	s.arm(w, s.timing.CallTimeout)
}

// release lets go of a key whose work has returned, or was never started.
func (s *Set) release(w *workload, r *run) {
	if r.releasing {
		return
	}
	r.releasing = true
	s.unreleased--
	s.disarm(w)
	r.ended.Store(true)
	r.cancel(nil)
	r.hold.Release()
}

// released ends the term: the key is free for others.
func (s *Set) released(w *workload, h *lease.Hold) {
	r := w.run.Load()
	if r == nil || r.hold != h {
		return
	}
	s.report(w, r)
	if w.yielding {
		w.yielding = false
		s.yield(w)
	}
	switch {
	case w.stopping || s.stopping:
		s.forget(w)
	case w.finished:
		w.claim.Close()
		w.run.Store(nil)
		s.enter(w, Stopped)
	default:
		w.run.Store(nil)
		s.enter(w, Standby)
		w.claim.ContendAfter(w.contendsAt() - s.line.Now())
	}
}

// report closes the books of a term.
func (s *Set) report(w *workload, r *run) {
	r.close()
	if r.started.IsZero() {
		return // nothing ran
	}
	e := WorkEvent{
		Key: w.spec.Key, Name: w.spec.Name, Token: r.Token(), End: r.end(), Err: r.err, Forced: r.forced,
		Started: r.started, Ran: r.ran, WindDown: s.line.Now() - r.ending,
		LetGo: s.line.Now() - r.began - r.ran,
	}
	if r.lost != nil {
		e.Reason = r.lost.Reason
	}
	w.last = &e
	tell(s, s.observe.work, WorkObserver.ObserveWork, e)
}

// forget takes a workload out of the set. No work of it runs.
func (s *Set) forget(w *workload) {
	s.disarm(w)
	if r := w.run.Load(); r != nil {
		r.close()
	}
	w.claim.Close()
	delete(s.workloads, w.spec.Key)
	delete(s.yielding, w)
	s.enter(w, Stopped)
	w.run.Store(nil)
	s.left = s.info(w)
}

// requested notes that RequestDrain has returned.
func (s *Set) requested(w *workload, panicked any) {
	key := w.spec.Key
	if s.requests[key]--; s.requests[key] == 0 {
		delete(s.requests, key)
	}
	if panicked != nil {
		s.logs(slog.LevelError, "RequestDrain panicked", slog.String("key", key), slog.String("panic", fmt.Sprint(panicked)))
	}
}

// logReturn says how the work of a term ended.
func (s *Set) logReturn(w *workload, r *run) {
	level, attrs := slog.LevelInfo, []slog.Attr{slog.String("end", string(r.end())), slog.Duration("ran", r.ran)}
	if r.err != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.Any("error", r.err))
		if p, ok := errors.AsType[*PanicError](r.err); ok {
			attrs = append(attrs, slog.String("stack", string(p.Stack)))
		}
	}
	if wait := w.retryAt - s.line.Now(); wait > 0 {
		attrs = append(attrs, slog.Duration("retryIn", wait.Round(time.Millisecond)))
	}
	s.logs(level, "work ended", w.attrs(attrs...)...)
}

// attrs are the attributes of every log line about a workload.
func (w *workload) attrs(more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{slog.String("key", w.spec.Key), slog.String("name", w.spec.Name), slog.Uint64("token", w.token)}, more...)
}
