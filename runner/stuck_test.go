package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func TestStuckWorkerAtTheEndOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		let := make(chan struct{})
		var alarmed atomic.Pointer[Term]
		r := mustRunner(t, store, "a", func(context.Context, *Term) error {
			<-let
			return nil
		}, Config{Observers: []any{rec}, OnStuck: func(key string, term *Term) {
			if key != "job" {
				t.Errorf("key %q", key)
			}
			alarmed.Store(term)
		}})
		s := begin(t, r.Run)
		began := time.Now()
		s.cancel()
		pass(exact.DrainTimeout + exact.HardStop - time.Millisecond)
		if alarmed.Load() != nil {
			t.Error("OnStuck too early")
		}
		if held, _ := store.Leases(t.Context()); len(held) != 1 {
			t.Error("released under a running worker")
		}
		err := s.wait()
		var stuck *StuckError
		if !errors.As(err, &stuck) || !errors.Is(err, ErrStuck) || len(stuck.Keys) != 1 || stuck.Keys[0] != "job" {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took != exact.DrainTimeout+exact.HardStop {
			t.Errorf("Run returned after %v", took)
		}
		if term := alarmed.Load(); term == nil || term.Key() != "job" {
			t.Error("OnStuck was not called")
		}
		if e := rec.stucks.get(); len(e) != 1 || e[0].Returned {
			t.Errorf("%+v", e)
		}
		if i := r.Info(); !i.Stuck || i.State != Lost || r.Held() {
			t.Errorf("%+v", i)
		}
		held, _ := store.Leases(t.Context())
		if len(held) != 1 || store.count("CloseSession")+store.count("Release") != 0 {
			t.Error("the lease of a running worker was released instead of left to lapse")
		}
		if err := r.Run(t.Context()); !errors.Is(err, ErrStuck) {
			t.Errorf("second Run while the worker lives: %v", err)
		}
		pass(exact.LeaseTTL)
		if held, _ := store.Leases(t.Context()); len(held) != 0 {
			t.Error("the session did not lapse")
		}
		close(let)
		synctest.Wait()
		if err := r.Run(t.Context()); err != nil {
			t.Errorf("second Run after the worker returned: %v", err)
		}
		if w := rec.works.get(); len(w) != 2 || !w[0].Forced || w[0].End != EndLost {
			t.Errorf("the end of the stuck term: %+v", w)
		}
	})
}

// Failure 11.
func TestStuckWorkerKeepsItsLeaseWhileRunGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		let := make(chan struct{})
		alarms := 0
		set := mustSet(t, store, "a", Config{Observers: []any{rec}, OnStuck: func(string, *Term) { alarms++ }})
		mustStart(t, set, Spec{Key: "job", Work: func(context.Context, *Term) error { <-let; return nil }})
		s := begin(t, set.Run)
		set.Stop("job")
		pass(exact.DrainTimeout + exact.HardStop)
		synctest.Wait()
		if i, _ := set.Lookup("job"); !i.Stuck || alarms != 1 {
			t.Errorf("%d alarms, %+v", alarms, i)
		}
		pass(time.Hour) // it is renewed all the while
		if held, _ := store.Leases(t.Context()); len(held) != 1 || alarms != 1 {
			t.Errorf("held %v, %d alarms", held, alarms)
		}
		if err := set.Start(Spec{Key: "job", Work: untilDrain}); !errors.Is(err, lease.ErrHeldHere) {
			t.Errorf("second start: %v", err)
		}
		close(let)
		synctest.Wait()
		if held, _ := store.Leases(t.Context()); len(held) != 0 || len(set.Keys()) != 0 {
			t.Errorf("held %v, keys %v", held, set.Keys())
		}
		if e := rec.stucks.get(); len(e) != 2 || !e[1].Returned {
			t.Errorf("%+v", e)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Failure 11.
func TestStuckAfterALossItsKeyIsNotContendedForUntilItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		let := make(chan struct{})
		var cancelled, alarmed time.Time
		starts := 0
		r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			if starts++; starts > 1 {
				return untilDrain(ctx, term)
			}
			<-ctx.Done()
			cancelled = time.Now()
			<-let
			return ctx.Err()
		}, Config{OnStuck: func(string, *Term) { alarmed = time.Now() }})
		s := begin(t, r.Run)
		store.fault(down)
		pass(15 * time.Second)
		if alarmed.Sub(cancelled) != exact.HardStop {
			t.Errorf("alarmed %v after the cancellation", alarmed.Sub(cancelled))
		}
		store.fault(nil)
		pass(time.Minute)
		if held, _ := store.Leases(t.Context()); len(held) != 0 || starts != 1 {
			t.Errorf("the key was acquired over the head of its old worker: %v, %d starts", held, starts)
		}
		close(let)
		pass(time.Second)
		if !r.Held() || starts != 2 {
			t.Errorf("not contended for after the worker returned: %+v", r.Info())
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestATimerThatIsSetAgainKeepsItsTurnAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		let := make(chan struct{})
		var alarms list[string]
		set := mustSet(t, store, "a", Config{OnStuck: func(key string, _ *Term) { alarms.add(key) }})
		for _, key := range []string{"one", "three", "two"} {
			mustStart(t, set, Spec{Key: key, Work: func(context.Context, *Term) error { <-let; return nil }})
		}
		s := begin(t, set.Run)
		for _, key := range []string{"one", "two", "three"} {
			set.Stop(key)
			pass(time.Second)
		}
		if err := store.Revoke(t.Context(), "three"); err != nil {
			t.Fatal(err)
		}
		pass(exact.HardStop)
		equal(t, "stuck", alarms.get(), []string{"three"}) // the others have 30 s to drain
		close(let)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestLossLateInTheStopDoesNotExtendIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		let := make(chan struct{})
		r := mustRunner(t, store, "a", func(context.Context, *Term) error { <-let; return nil }, Config{})
		s := begin(t, r.Run)
		began := time.Now()
		s.cancel()
		pass(25 * time.Second)
		store.fault(down) // lost within 9 s: a second before DrainTimeout + HardStop at the latest
		if err := s.wait(); !errors.Is(err, ErrStuck) || time.Since(began) != exact.DrainTimeout+exact.HardStop {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		close(let)
		synctest.Wait()
	})
}

func TestStuckErrorNamesAFewKeys(t *testing.T) {
	e := &StuckError{Keys: []string{"a", "b", "c", "d", "e", "f", "g"}}
	if want := `tenure: worker ignored its cancellation: "a", "b", "c", "d", "e" and 2 more`; e.Error() != want {
		t.Errorf("%q", e.Error())
	}
}
