package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
)

// never is work that must not be started.
func never(t *testing.T) Work {
	return func(context.Context, *Term) error {
		t.Error("work was started")
		return nil
	}
}

// Failure 25.
func TestStopDuringAnAcquireStartsNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		stop func(r *Runner, s *started)
	}{
		{"the end of Run", func(_ *Runner, s *started) { s.cancel() }},
		{"Stop", func(r *Runner, _ *started) { r.set.Stop("job") }},
		{"BeginDrain", func(r *Runner, _ *started) { _ = r.BeginDrain(context.Background()) }},
		{"StepDown, then the end of Run", func(r *Runner, s *started) { _ = r.StepDown(context.Background()); s.cancel() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				asked, answer := make(chan struct{}), make(chan struct{})
				store.after = func(op string) error {
					if op == "Acquire" {
						close(asked) // granted in the store, and the answer is on its way
						<-answer
					}
					return nil
				}
				r := mustRunner(t, store, "a", never(t), Config{Status: store})
				s := begin(t, r.Run)
				<-asked
				c.stop(r, s)
				synctest.Wait()
				close(answer)
				s.cancel()
				if err := s.wait(); err != nil {
					t.Error(err)
				}
				if held, _ := store.Leases(t.Context()); len(held) != 0 {
					t.Errorf("still held: %v", held)
				}
				if store.count("PutStatus") != 0 {
					t.Error("a runner whose work never ran wrote a status")
				}
			})
		})
	}
}

// Failure 27.
func TestStopOnStandbyStartsAndEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		a := begin(t, mustRunner(t, store, "a", untilDrain, Config{}).Run)
		rec := &recorder{}
		b := mustRunner(t, store, "b", never(t), Config{Observers: []any{rec}, Status: store})
		sb := begin(t, b.Run)
		pass(time.Minute)
		if err := sb.stop(); err != nil {
			t.Error(err)
		}
		equal(t, "states", rec.path(), []State{Standby, Stopped})
		if len(rec.works.get()) != 0 || store.count("PutStatus") != 0 {
			t.Error("the end of a term that never was")
		}
		if err := a.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestRunWithAnEndedContextTouchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", never(t), Config{Status: store})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
		if len(store.calls) != 0 {
			t.Errorf("calls %v", store.calls)
		}
	})
}

func TestSetThatRunsWithAnEndedContextTouchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{Status: store})
		mustStart(t, set, Spec{Key: "one", Work: never(t)}, Spec{Key: "two", Work: never(t)})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := set.Run(ctx); err != nil || len(store.calls) != 0 || len(set.Keys()) != 0 {
			t.Errorf("%v, calls %v, keys %v", err, store.calls, set.Keys())
		}
	})
}

func TestRunnerThatDrainsAlreadyEndsWithoutTouchingTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", never(t), Config{Status: store})
		if err := r.BeginDrain(t.Context()); err != nil {
			t.Error(err)
		}
		<-r.Drained()
		if err := r.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if len(store.calls) != 0 {
			t.Errorf("calls %v", store.calls)
		}
	})
}

func TestBeginDrainWindsDownAndEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			<-term.Draining()
			time.Sleep(20 * time.Second)
			return ctx.Err()
		}, Config{Restart: Always})
		s := begin(t, r.Run)
		for range 3 {
			if err := r.BeginDrain(t.Context()); err != nil {
				t.Error(err)
			}
		}
		pass(19 * time.Second)
		equal(t, "running", r.Running(), []string{"job"})
		select {
		case <-r.Drained():
			t.Error("drained while it runs")
		default:
		}
		pass(time.Second)
		<-r.Drained()
		if err := s.wait(); err != nil || len(r.Running()) != 0 {
			t.Errorf("%v, running %v", err, r.Running())
		}
		if held, _ := store.Leases(t.Context()); len(held) != 0 {
			t.Errorf("drained and still held: %v", held)
		}
	})
}

func TestDrainOfAStandbyIsOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		a := begin(t, mustRunner(t, store, "a", untilDrain, Config{}).Run)
		b := mustRunner(t, store, "b", never(t), Config{})
		sb := begin(t, b.Run)
		if err := b.BeginDrain(t.Context()); err != nil {
			t.Error(err)
		}
		<-b.Drained()
		if err := sb.wait(); err != nil {
			t.Error(err)
		}
		if err := a.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Failures F8, 19.
func TestStopIsIdempotentInEveryState(t *testing.T) {
	// Where a stop finds the workload, and what the store does then.
	at := map[string]func(store *testStore, set *Set){
		"before anything": func(*testStore, *Set) {},
		"active":          func(*testStore, *Set) { synctest.Wait() },
		"draining":        func(_ *testStore, set *Set) { synctest.Wait(); set.StepDown("job"); synctest.Wait() },
		"forced":          func(_ *testStore, set *Set) { synctest.Wait(); set.StepDown("job"); pass(31 * time.Second) },
		"lost": func(store *testStore, _ *Set) {
			synctest.Wait()
			store.fault(down)
			pass(9*time.Second + time.Millisecond)
		},
		"lost, store hangs": func(store *testStore, _ *Set) { synctest.Wait(); store.fault(hang); pass(10 * time.Second) },
	}
	for name, reach := range at {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				set := mustSet(t, store, "a", Config{Status: store})
				mustStart(t, set, Spec{Key: "job", Work: func(ctx context.Context, _ *Term) error {
					<-ctx.Done()
					time.Sleep(2 * time.Second)
					return ctx.Err()
				}})
				s := begin(t, set.Run)
				reach(store, set)
				for range 3 {
					set.Stop("job")
					set.StopAll()
					set.StepDown("job")
					set.Stop("no such key")
				}
				set.DrainAll()
				set.DrainAll()
				began := time.Now()
				if err := s.stop(); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 40*time.Second {
					t.Errorf("took %v", took)
				}
				<-set.Drained()
				set.Stop("job")
				pass(time.Hour)
			})
		})
	}
}

// Failure F8.
func TestTheWorkItselfMayStopAndStepDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{})
		mustStart(t, set, Spec{Key: "job", Work: func(context.Context, *Term) error {
			set.StepDown("job")
			set.Stop("job")
			_, _, _, _ = set.Snapshot(), set.Keys(), set.Running(), set.LeaseState()
			return errWork
		}})
		s := begin(t, set.Run)
		if len(set.Keys()) != 0 {
			t.Errorf("keys %v", set.Keys())
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// stopper is an observer that stops what it hears of.
type stopper struct{ set *Set }

func (s *stopper) ObserveState(e StateEvent) {
	if e.To == Active {
		_ = s.set.Snapshot()
		s.set.Stop(e.Key)
	}
}

// Failure F8.
func TestAnObserverMayStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &stopper{}
		set := mustSet(t, newStore(t), "a", Config{Observers: []any{o}})
		o.set = set
		mustStart(t, set, Spec{Key: "job", Work: untilDrain}, Spec{Key: "other", Work: untilDrain})
		s := begin(t, set.Run)
		if keys := set.Keys(); len(keys) != 0 {
			t.Errorf("keys %v", keys)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestOneRunAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", untilDrain, Config{})
		s := begin(t, r.Run)
		if err := r.Run(t.Context()); err != ErrRunning {
			t.Errorf("second Run: %v", err)
		}
		if err := r.set.Run(t.Context()); err != ErrRunning {
			t.Errorf("second Run of the set: %v", err)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		first := r.Info().Token
		s = begin(t, r.Run) // and again, once it has returned
		if !r.Held() || r.Info().Token <= first {
			t.Errorf("second life: %+v", r.Info())
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStartIsRefusedWhereItCannotBeMeant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{})
		slow := func(ctx context.Context, term *Term) error {
			<-term.Draining()
			time.Sleep(time.Second)
			return nil
		}
		mustStart(t, set, Spec{Key: "job", Work: slow})
		s := begin(t, set.Run)
		if err := set.Start(Spec{Key: "job", Work: slow}); !errors.Is(err, lease.ErrHeldHere) {
			t.Errorf("running: %v", err)
		}
		for len(set.Changed()) > 0 {
			<-set.Changed()
		}
		set.Stop("job")
		if err := set.Start(Spec{Key: "job", Work: slow}); !errors.Is(err, lease.ErrHeldHere) {
			t.Errorf("winding down: %v", err)
		}
		for len(set.Keys()) > 0 {
			<-set.Changed()
		}
		mustStart(t, set, Spec{Key: "job", Work: slow}) // gone: it may be started again
		synctest.Wait()
		s.cancel()
		synctest.Wait()
		if err := set.Start(Spec{Key: "other", Work: slow}); !errors.Is(err, lease.ErrStopped) {
			t.Errorf("stopping: %v", err)
		}
		if err := s.wait(); err != nil {
			t.Error(err)
		}
		set.DrainAll()
		if err := set.Start(Spec{Key: "other", Work: slow}); !errors.Is(err, drain.ErrDraining) {
			t.Errorf("draining: %v", err)
		}
	})
}
