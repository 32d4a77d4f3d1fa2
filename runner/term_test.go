package runner

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
)

// Failure 21.
func TestWorkRunsWhileTheKeyIsHeldAndNotBeyond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		terms := make(chan *Term, 1)
		r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			terms <- term
			return untilDrain(ctx, term)
		}, Config{Observers: []any{rec}})
		if r.State() != Stopped || r.Held() {
			t.Errorf("before Run: %v, held %v", r.State(), r.Held())
		}
		s := begin(t, r.Run)
		term := <-terms
		if !r.Held() || !term.Valid() || term.Key() != "job" || term.Token() == 0 || term.Token() != r.Info().Token {
			t.Errorf("held %v, valid %v, key %q, token %d, info %+v", r.Held(), term.Valid(), term.Key(), term.Token(), r.Info())
		}
		if left := term.Left(); left != 9*time.Second {
			t.Errorf("left %v, want TTL - margin", left)
		}
		if err := term.Check(t.Context()); err != nil {
			t.Errorf("check: %v", err)
		}
		pass(5 * exact.LeaseTTL) // work longer than the TTL keeps its lease
		if !term.Valid() {
			t.Error("the term ended by itself")
		}
		if err := s.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if term.Valid() || term.Left() != 0 || r.Held() || !errors.Is(term.Check(t.Context()), lease.ErrLost) {
			t.Error("the term is valid after Run")
		}
		equal(t, "states", rec.path(), []State{Standby, Active, Draining, Stopped})
		works := rec.works.get()
		if len(works) != 1 || works[0].End != EndStopped || works[0].Err != nil || works[0].Ran != 50*time.Second || works[0].Forced {
			t.Errorf("works %+v", works)
		}
		if leases, _ := store.Leases(t.Context()); len(leases) != 0 {
			t.Errorf("still held: %v", leases)
		}
	})
}

// Failures F5, F6, 15, 83.
func TestEndOfATermHasOneOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		var r *Runner
		var term *Term
		var returned atomic.Bool
		work := func(ctx context.Context, tm *Term) error {
			term = tm
			<-tm.Draining()
			store.note("signal")
			time.Sleep(19*time.Second + time.Second/2) // between two renewals
			if err := ctx.Err(); err != nil {
				t.Errorf("cancelled during the drain: %v", err)
			}
			store.note("returned")
			returned.Store(true)
			return nil
		}
		r = mustRunner(t, store, "a", work, Config{Status: store})
		store.after = func(op string) error {
			if returned.Load() && (term.Valid() || term.Left() != 0 || r.Held()) {
				t.Errorf("%s while the term says that it is valid", op)
			}
			return nil
		}
		s := begin(t, r.Run)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		got := store.noted()
		equal(t, "trace", got[:1], []string{"active"})
		// The signal and the status are told at the same instant, by two goroutines.
		if a, b := got[1], got[2]; a+b != "signaltransferring" && a+b != "transferringsignal" {
			t.Errorf("trace %v", got)
		}
		equal(t, "trace", got[3:5], []string{"returned", "inactive"})
		// Run ends then: the key is let go by itself, or with the session, which does not wait for a release under way.
		if rest := got[5:]; !slices.Equal(rest, []string{"close"}) && !slices.Equal(rest, []string{"release", "close"}) && !slices.Equal(rest, []string{"close", "release"}) {
			t.Errorf("trace %v", got)
		}
	})
}

type drainable func()

func (f drainable) RequestDrain() { f() }

func TestRequestDrainIsCalledOncePerTermAndMayBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		asked := 0
		release := make(chan struct{})
		spec := Spec{Key: "job", Work: untilDrain, Drainable: drainable(func() { asked++; <-release })}
		set := mustSet(t, store, "a", Config{})
		mustStart(t, set, spec)
		s := begin(t, set.Run)
		set.StepDown("job")
		set.Stop("job")
		set.Stop("job")
		synctest.Wait()
		if asked != 1 || len(set.Keys()) != 0 {
			t.Errorf("asked %d times, keys %v", asked, set.Keys())
		}
		close(release)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestRequestDrainThatNeverReturnsIsNamedWhenRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		release := make(chan struct{})
		set := mustSet(t, store, "a", Config{})
		mustStart(t, set, Spec{Key: "job", Work: untilDrain, Drainable: drainable(func() { <-release; panic("late") })})
		s := begin(t, set.Run)
		began := time.Now()
		err := s.stop()
		if !errors.Is(err, ErrStuck) || time.Since(began) != exact.DrainTimeout+exact.HardStop {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(release)
		synctest.Wait()
		if err := begin(t, set.Run).stop(); err != nil {
			t.Errorf("second Run: %v", err)
		}
	})
}

func TestRequestDrainThatNeverReturnsEndsADrainedRunnerAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		r, err := New(newStore(t), "a", Spec{Key: "job", Work: untilDrain, Drainable: drainable(func() { <-let })}, Config{Timing: exact})
		if err != nil {
			t.Fatal(err)
		}
		s := begin(t, r.Run)
		began := time.Now()
		_ = r.BeginDrain(t.Context())
		<-r.Drained()
		if err := s.wait(); !errors.Is(err, ErrStuck) || time.Since(began) != exact.HardStop {
			t.Errorf("Run: %v after %v", err, time.Since(began))
		}
		close(let)
		synctest.Wait()
	})
}

// Failures 13, 83.
func TestLeaseIsRenewedWhileDrainingSoThatNobodyTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		returned := false
		a := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			<-term.Draining()
			time.Sleep(25 * time.Second) // two and a half TTLs
			returned = true
			return ctx.Err()
		}, Config{})
		sa := begin(t, a.Run)
		b := mustRunner(t, store, "b", func(ctx context.Context, term *Term) error {
			if !returned {
				t.Error("b started while a was draining")
			}
			return untilDrain(ctx, term)
		}, Config{})
		sb := begin(t, b.Run)
		if err := sa.stop(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !b.Held() {
			t.Error("b did not take over at once")
		}
		if err := sb.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestDrainTimeoutCancelsWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		var cause error
		var at time.Time
		r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			<-ctx.Done()
			cause, at = context.Cause(ctx), time.Now()
			if !term.Valid() {
				t.Error("the lease is not held any more")
			}
			return ctx.Err()
		}, Config{Observers: []any{rec}})
		s := begin(t, r.Run)
		began := time.Now()
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if cause != drain.ErrTimeout || at.Sub(began) != exact.DrainTimeout {
			t.Errorf("cause %v after %v", cause, at.Sub(began))
		}
		w := rec.works.get()[0]
		if !w.Forced || w.Err != nil || w.End != EndStopped || w.WindDown != exact.DrainTimeout {
			t.Errorf("%+v", w)
		}
	})
}

func TestWorkerContextOutlivesRunsContextAndKeepsItsValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		store := newStore(t)
		r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			if ctx.Value(key{}) != "value" {
				t.Error("no values")
			}
			if _, limited := ctx.Deadline(); limited {
				t.Error("it has Run's deadline")
			}
			<-term.Draining()
			return ctx.Err()
		}, Config{Restart: Never})
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Minute)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			t.Errorf("the work's context ended with Run's: %v", err)
		}
	})
}
