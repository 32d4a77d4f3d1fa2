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

// Failures F1, 1.
func TestHungStoreEndsTheTermAtItsLocalDeadlineBeforeAnybodyElseStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		var ended, started time.Time
		var cause error
		a := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			<-ctx.Done()
			ended, cause = time.Now(), context.Cause(ctx)
			if term.Valid() {
				t.Error("valid after its end")
			}
			return ctx.Err()
		}, Config{})
		sa := begin(t, a.Run)
		b := mustRunner(t, store.another(), "b", func(ctx context.Context, term *Term) error {
			if started.IsZero() {
				started = time.Now()
			}
			return untilDrain(ctx, term)
		}, Config{})
		sb := begin(t, b.Run)
		pass(2*time.Second + time.Millisecond) // a renewal was sent at 2 s
		renewed := time.Now().Add(-time.Millisecond)
		store.fault(hang)
		pass(15 * time.Second)
		if ended.Sub(renewed) != 9*time.Second {
			t.Errorf("cancelled %v after the last renewal, want TTL - margin = 9s", ended.Sub(renewed))
		}
		var lost *lease.LostError
		if !errors.As(cause, &lost) || lost.Reason != lease.ReasonUnreachable {
			t.Errorf("cause %v", cause)
		}
		if started.Sub(renewed) != 10*time.Second {
			t.Errorf("b started %v after the last renewal, want the TTL", started.Sub(renewed))
		}
		if a.Held() || !b.Held() || a.State() != Standby {
			t.Errorf("held: a %v (%v), b %v", a.Held(), a.State(), b.Held())
		}
		if err := sa.stop(); err != nil {
			t.Errorf("a: %v", err)
		}
		if err := sb.stop(); err != nil {
			t.Errorf("b: %v", err)
		}
		pass(time.Hour) // the hung calls come back
	})
}

// Failures F8, F10, 49.
func TestOneFailedRenewalIsNoTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		r := mustRunner(t, store, "a", untilDrain, Config{Observers: []any{rec}})
		s := begin(t, r.Run)
		failed := 0
		store.fault(func(_ context.Context, op string) error {
			if op == "Renew" && store.count("Renew")%3 == 0 {
				failed++
				return errDown
			}
			return nil
		})
		pass(5 * time.Minute)
		if err := s.stop(); err != nil || failed < 10 {
			t.Errorf("%v, %d failed", err, failed)
		}
		equal(t, "states", rec.path(), []State{Standby, Active, Draining, Stopped})
	})
}

// Failure 51.
func TestLostRepliesLoseAndDoubleNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		var n atomic.Int64
		store.after = func(string) error {
			if n.Add(1)%2 == 0 {
				return errDown // the call happened, its answer is lost
			}
			return nil
		}
		r := mustRunner(t, store, "a", untilDrain, Config{Observers: []any{rec}})
		s := begin(t, r.Run)
		pass(time.Minute)
		if !r.Held() || r.Info().Restarts != 0 {
			t.Errorf("%+v", r.Info())
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		equal(t, "states", rec.path(), []State{Standby, Active, Draining, Stopped})
	})
}

// Failure 43.
func TestNoStoreErrorEndsRun(t *testing.T) {
	for name, err := range map[string]error{
		"unavailable": lease.ErrUnavailable, "closed": lease.ErrClosed, "read-only": lease.ErrReadOnlyStore,
		"invalid": lease.ErrInvalid, "unknown to us": errors.New("boom"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				store.fault(func(context.Context, string) error { return err })
				r := mustRunner(t, store, "a", untilDrain, Config{Status: store})
				s := begin(t, r.Run)
				pass(5 * time.Minute)
				if r.Held() {
					t.Error("held without a store")
				}
				store.fault(nil)
				pass(10 * time.Second)
				if !r.Held() {
					t.Errorf("not held after the store healed: %+v", r.Info())
				}
				if err := s.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestStopWithADeadStoreReturns(t *testing.T) {
	for name, fault := range map[string]func(context.Context, string) error{"failing": down, "hanging": hang} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				r := mustRunner(t, store, "a", untilDrain, Config{Status: store})
				s := begin(t, r.Run)
				store.fault(fault)
				began := time.Now()
				if err := s.stop(); err != nil {
					t.Error(err)
				}
				// One call for the status that was in flight, one for Inactive, one for the release.
				if took := time.Since(began); took > 3*2*time.Second {
					t.Errorf("took %v", took)
				}
				pass(time.Hour)
			})
		})
	}
}

// Failure 19.
func TestStopWhileTheStoreNeverAnsweredReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		store.fault(hang)
		r := mustRunner(t, store, "a", func(context.Context, *Term) error { t.Error("started"); return nil }, Config{Status: store})
		s := begin(t, r.Run)
		pass(time.Minute)
		began := time.Now()
		if err := s.stop(); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		pass(time.Hour)
	})
}

func TestLostWorkIsWaitedForAndTheKeyIsContendedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		var tokens []uint64
		r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			tokens = append(tokens, term.Token())
			err := untilDrain(ctx, term)
			if errors.Is(err, lease.ErrLost) {
				time.Sleep(3 * time.Second) // slow to stop, but it stops
			}
			return err
		}, Config{Observers: []any{rec}})
		s := begin(t, r.Run)
		pass(time.Second)
		store.fault(down)
		pass(9 * time.Second)
		if r.State() != Lost || r.Held() || len(r.Running()) != 1 {
			t.Errorf("%v, held %v, running %v", r.State(), r.Held(), r.Running())
		}
		store.fault(nil)
		pass(10 * time.Second)
		if !r.Held() || len(tokens) != 2 || tokens[1] <= tokens[0] {
			t.Errorf("held %v, tokens %v", r.Held(), tokens)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		equal(t, "states", rec.path(), []State{Standby, Active, Lost, Standby, Active, Draining, Stopped})
		w := rec.works.get()[0]
		if w.End != EndLost || w.Reason != lease.ReasonUnreachable || w.Err != nil || w.WindDown < 3*time.Second {
			t.Errorf("%+v", w)
		}
		if i := r.Info(); i.Failures != 0 || i.Restarts != 1 {
			t.Errorf("a loss counts as a failure: %+v", i)
		}
	})
}

func TestLossDuringADrainEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		r := mustRunner(t, store, "a", untilCancelled, Config{Observers: []any{rec}})
		s := begin(t, r.Run)
		store.fault(down)
		s.cancel()
		synctest.Wait()
		began := time.Now()
		if err := s.wait(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("it took %v, and the lease was lost after 9 s", took)
		}
		equal(t, "states", rec.path(), []State{Standby, Active, Draining, Lost, Stopped})
		if w := rec.works.get()[0]; w.End != EndLost || w.Err != nil {
			t.Errorf("%+v", w)
		}
	})
}

func TestWorkThatReturnsAtTheMomentOfItsLossDidNotFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", untilCancelled, Config{Restart: Never})
		s := begin(t, r.Run)
		for range 20 {
			store.fault(down)
			pass(9 * time.Second)
			store.fault(nil)
			pass(15 * time.Second)
			if i := r.Info(); i.Failures != 0 || !r.Held() {
				t.Fatalf("%+v", i)
			}
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Failure 31.
func TestTakenLeaseStopsTheWorkAtTheNextLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		empty := store.Snapshot()
		var cause error
		a := mustRunner(t, store, "a", func(ctx context.Context, _ *Term) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		}, Config{})
		sa := begin(t, a.Run)
		first := a.Info().Token
		pass(time.Second)
		store.Restore(empty) // the store forgets everything, silently
		var second uint64
		b := mustRunner(t, store.another(), "b", func(ctx context.Context, term *Term) error {
			second = term.Token()
			return untilDrain(ctx, term)
		}, Config{})
		sb := begin(t, b.Run)
		pass(2 * time.Second)
		if !errors.Is(cause, lease.ErrLost) || second <= first {
			t.Errorf("cause %v, tokens %d, %d", cause, first, second)
		}
		if err := errors.Join(sa.stop(), sb.stop()); err != nil {
			t.Error(err)
		}
	})
}
