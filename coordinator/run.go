package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/registry"
)

// loop is the state of one Run. Only its goroutine touches it: store calls, the planner and the
// workers run beside it, and it waits for none of them.
type loop struct {
	e       *engine
	calls   context.Context // of store calls: it outlives the stop, and ends with Run
	answers chan func()
	arrived chan func() // of the heartbeat that was taken along; it has room for it
	done    chan struct{}

	leaving  bool // Run was told to stop
	draining bool // the drain was noticed
	dirty    bool // the jobs must be compared with the plan

	beat   beating
	active []registry.Member
	settle settling
	calm   bool // healthy workloads may move: the fleet has settled, and the store, if it began anew, has thawed
	cat    *catalogue
	plan   planning
	jobs   *jobs
	gate   lane

	gone        departures
	incarnation uint64 // of the lease store, as last seen
	obey        obeying
	rank        ranking
	standAt     time.Duration // when standing for planner is tried again; 0: not by itself
	facts       facts
	alone       bool   // what the fleet's plan does not name is planned here
	strangeTold string // the last of its kind
}

func (e *engine) run(ctx context.Context) error {
	if err := e.begin(); err != nil {
		return err
	}
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	l := &loop{
		e: e, calls: calls, answers: make(chan func()), arrived: make(chan func(), 1), done: make(chan struct{}),
		settle: settling{window: e.window}, cat: e.currentCatalogue(), jobs: e.jobs,
	}
	side := e.accompany(calls)
	ended := make(chan error, 1)
	go func() { ended <- e.set.Run(work) }()
	e.note(EventStarted, "", "")
	e.logs(func(lg *slog.Logger) {
		lg.Info("coordinator", "timing", e.timing, "settle", e.window, "planning", string(e.mode.planning), "why", e.mode.why)
	})

	err := l.spin(ctx, stopWork, ended)
	l.leave()
	close(l.done)
	e.finish(err)
	cancel()
	e.await(side)
	return err
}

// spin runs until the runners have ended, which they do once ctx has and their workers returned.
func (l *loop) spin(ctx context.Context, stopWork func(), ended <-chan error) error {
	timer := l.e.clock.NewTimer(0)
	defer timer.Stop()
	stop := ctx.Done()
	for {
		timer.Reset(l.step())
		select {
		case <-stop:
			stop = nil
			stopWork()
			l.beginLeaving(context.Cause(ctx))
		case <-timer.C():
		case <-l.e.wake:
		case <-l.e.set.Changed():
		case f := <-l.answers:
			f()
		case f := <-l.arrived:
			f()
		case err := <-ended:
			return err
		}
	}
}

// beginLeaving begins the end of Run: the others are told at once, whatever the backoff, so that they
// plan without this instance while its workers finish.
func (l *loop) beginLeaving(why error) {
	l.leaving, l.dirty = true, true
	l.beat.hurry(0)
	l.e.mu.Lock()
	l.e.leaving = true
	l.e.mu.Unlock()
	l.e.note(EventStopping, "", fmt.Sprint(why))
}

// step does what is due and returns how long nothing else will be.
func (l *loop) step() time.Duration {
	now := l.e.line.Now()
	if cat := l.e.currentCatalogue(); cat.version != l.cat.version {
		l.cat, l.dirty = cat, true
		l.settle.change(now)
		l.stir(now)
	}
	l.heed(l.e.hints.take(), now)
	if !l.draining && l.e.isDraining() {
		l.draining, l.dirty = true, true
		l.beat.hurry(0) // tell at once, whatever the backoff
	}
	state := l.e.set.LeaseState()
	if calm := l.settle.settled(now) && state.FrozenFor == 0; calm != l.calm {
		l.calm, l.dirty = calm, true
		l.lookAgain()
	}
	if state.Incarnation > l.incarnation {
		l.reincarnated(now, state.Incarnation)
	}
	l.beatIfDue(now)
	if l.e.obeys() {
		l.stand(now)
		l.tell(state)
		l.readIfDue(now)
		if alone := l.foreign(now); alone != l.alone {
			l.alone, l.dirty = alone, true
		}
	}
	if l.alone || !l.e.obeys() {
		l.planIfDue(now)
	}
	l.reap()
	l.reconcile()
	l.look()
	return l.until(now)
}

// until returns how long nothing needs doing.
func (l *loop) until(now time.Duration) time.Duration {
	next := now + l.e.timing.HeartbeatInterval
	at := func(t time.Duration) { next = min(next, t) }
	if !l.beat.lane.busy {
		at(l.beat.at)
	}
	if l.settle.open {
		at(l.settle.at())
	}
	if l.plan.again != 0 && l.mayPlan() && (l.alone || !l.e.obeys()) {
		at(l.plan.again)
	}
	if l.mayRead() {
		at(l.obey.at)
	}
	if l.standAt > now {
		at(l.standAt)
	}
	return max(next-now, 0)
}

// leave takes this instance out of the fleet, under a context of its own: the caller's has ended.
func (l *loop) leave() {
	// A heartbeat under way that landed after the leave would bring the instance back for a while.
	l.board()
	for l.beat.lane.busy {
		select {
		case f := <-l.answers:
			f()
		case f := <-l.arrived:
			f()
		}
	}
	e := l.e
	_, err := call.Do(context.WithoutCancel(l.calls), &l.beat.lane.gate, "Leave", e.timing.CallTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, e.store.Leave(ctx, e.self.ID)
	})
	if err != nil {
		e.logs(func(lg *slog.Logger) {
			lg.Warn("could not leave; the membership expires by itself", "instance", string(e.self.ID), "error", err)
		})
	}
}

// finish marks the run as over.
func (e *engine) finish(err error) {
	why := "in good order"
	if err != nil {
		why = err.Error()
	}
	e.note(EventStopped, "", why)
	e.mu.Lock()
	e.running, e.stopped = false, true
	e.mu.Unlock()
}

// accompany starts what runs beside the loop, and returns a channel that is closed when it has ended.
func (e *engine) accompany(ctx context.Context) <-chan struct{} {
	var side sync.WaitGroup
	side.Go(func() { e.events.Run(ctx) })
	if w := e.store.registryWatcher(); w != nil {
		side.Go(func() { e.watch(ctx, w) })
	}
	ended := make(chan struct{})
	go func() { side.Wait(); close(ended) }()
	return ended
}

// await waits for it. It ends promptly unless user code hangs, which must not hang the caller.
func (e *engine) await(ended <-chan struct{}) {
	timer := e.clock.NewTimer(e.timing.CallTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C():
	}
}
