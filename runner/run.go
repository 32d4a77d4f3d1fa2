package runner

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Run drives the workloads until ctx ends, then winds all of them down: each drains for up to
// DrainTimeout and is then cancelled. No store error ends it. It returns nil when everything has
// been let go, or, DrainTimeout + HardStop after the end of ctx, a *StuckError that names the keys
// whose workers have not returned; their session is left to lapse, and they are the only goroutines
// that may outlive Run. Run may be called again once it has returned, but not while such a worker
// lives. The set is empty then.
func (s *Set) Run(ctx context.Context) error { return s.drive(ctx, false) }

func (s *Set) drive(ctx context.Context, untilIdle bool) error {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.begin(ctx, calls, untilIdle); err != nil {
		return err
	}
	if ctx.Err() != nil {
		s.windDown() // before the keeper asks for anything
	}
	var queues sync.WaitGroup
	queues.Go(func() { s.events.Run(calls) })
	queues.Go(func() { s.alarms.Run(calls) })
	keeping, stopKeeper := context.WithCancel(calls)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		_ = s.keeper.Run(keeping) // it fails only where it was run before, and this one is fresh
	}()

	s.loop(ctx)
	stopKeeper()
	<-kept
	err := s.finish()
	cancel()
	s.calls.Wait() // promptly: their context has ended
	s.await(&queues)
	return err
}

// await waits for the user's observers, which must not hang the caller.
func (s *Set) await(queues *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { queues.Wait(); close(done) }()
	timer := s.clock.NewTimer(s.timing.CallTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C():
	}
}

// begin readies the set for a Run.
func (s *Set) begin(ctx, calls context.Context, untilIdle bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == running {
		return ErrRunning
	}
	if err := s.refresh(); err != nil {
		return err
	}
	s.phase, s.untilIdle = running, untilIdle
	s.workCtx, s.callCtx = context.WithoutCancel(ctx), calls
	// The keeper logs the timing.
	s.logs(slog.LevelInfo, "runner started", slog.String("owner", string(s.owner)),
		slog.String("restart", s.cfg.Restart.String()), slog.Duration("backoffMin", s.cfg.Backoff.Min), slog.Duration("backoffMax", s.cfg.Backoff.Max))
	return nil
}

// refresh makes a set whose Run has ended usable again, unless a worker still lives. The mutex is held.
func (s *Set) refresh() error {
	if s.phase != spent {
		return nil
	}
	for _, f := range s.inbox.take() {
		f()
	}
	if keys := s.stuckKeys(); len(keys) > 0 {
		return &StuckError{Keys: keys}
	}
	keeper, err := s.newKeeper()
	if err != nil {
		return err
	}
	for _, key := range sortedKeys(s.workloads) {
		w := s.workloads[key] // its stuck worker has returned since, or it finished by itself
		if r := w.run.Load(); r != nil {
			s.report(w, r)
		}
		s.forget(w)
	}
	clear(s.yielding)
	s.pub = newPublisher()
	s.keeper, s.phase = keeper, idle
	s.stopping, s.deadline, s.looking, s.working, s.unreleased = false, 0, false, 0, 0
	return nil
}

// loop is the one goroutine that drives all workloads.
func (s *Set) loop(ctx context.Context) {
	timer := s.clock.NewTimer(time.Hour)
	defer timer.Stop()
	stop := ctx.Done()
	for {
		if ctx.Err() != nil && stop != nil {
			stop = nil
			s.windDown()
		}
		s.handle()
		wait, over := s.step()
		if over {
			return
		}
		timer.Reset(wait)
		select {
		case <-s.wake:
		case <-timer.C():
		case <-stop:
		}
	}
}

// windDown begins the end of Run.
func (s *Set) windDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	s.stopping = true
	s.deadline = s.line.Now() + s.timing.DrainTimeout + s.timing.HardStop
	s.logs(slog.LevelInfo, "runner stopping", slog.String("owner", string(s.owner)), slog.Int("working", s.working))
	s.stopAll()
}

// step does what is due, and returns how long nothing needs doing and whether Run is over.
func (s *Set) step() (wait time.Duration, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.line.Now()
	s.fire(now)
	s.publish(now)
	s.look(now)
	if s.over(now) {
		return 0, true
	}
	next := now + time.Hour
	if len(s.timers) > 0 {
		next = min(next, s.timers[0].due)
	}
	if s.deadline > now {
		next = min(next, s.deadline)
	}
	next = min(next, s.publishAt(next), s.lookAgain(next))
	return max(next-now, 0), false
}

// over reports whether Run may end: all was let go, or what was not has no time left. What has
// returned and only waits for its last status, which is bounded, is waited for.
func (s *Set) over(now time.Duration) bool {
	ending := s.stopping || s.untilIdle && s.open == 0
	if !ending {
		return false
	}
	if s.unreleased == 0 && len(s.requests) == 0 {
		return true
	}
	if s.deadline == 0 {
		s.deadline = now + s.timing.HardStop // all that is left is a RequestDrain that does not return
	}
	return now >= s.deadline && s.unreleased == s.working
}

// finish closes the books after the keeper has ended.
func (s *Set) finish() error {
	s.handle()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range sortedKeys(s.workloads) {
		w := s.workloads[key]
		r := w.run.Load()
		if r != nil && r.working {
			s.stuck(w, r)
			continue
		}
		if r != nil {
			s.report(w, r)
		}
		if w.state != Stopped || s.stopping {
			s.forget(w)
		}
	}
	s.phase = spent
	s.withdraw()
	keys := s.stuckKeys()
	s.logs(slog.LevelInfo, "runner stopped", slog.String("owner", string(s.owner)), slog.Any("stuck", keys))
	if len(keys) > 0 {
		return &StuckError{Keys: keys}
	}
	return nil
}

// stuckKeys returns the keys whose work or RequestDrain has not returned. The mutex is held.
func (s *Set) stuckKeys() []string {
	keys := map[string]int{}
	maps.Copy(keys, s.requests)
	for key, w := range s.workloads {
		if r := w.run.Load(); r != nil && r.working {
			keys[key] = 1
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return sortedKeys(keys)
}
