package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// The tests of this file are about failures that others had: docs/failures.md.

// Renewals that come several times a second all count: a waiter is not misled by the first of them.
// Failure F4.
func TestTakeoverCountsFromTheLastRenewalWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timing := exact
		timing.LeaseTTL, timing.RenewInterval = 3*time.Second, 300*time.Millisecond
		store := newStore(t)
		a := mustRunner(t, store, "a", untilDrain, Config{Timing: timing})
		sa := begin(t, a.Run)
		var started list[time.Time]
		b := mustRunner(t, store.another(), "b", func(ctx context.Context, term *Term) error {
			started.add(time.Now())
			return untilDrain(ctx, term)
		}, Config{Timing: timing})
		sb := begin(t, b.Run)
		pass(3*time.Second + 901*time.Millisecond) // in the middle of a second
		renewed := time.Now().Add(-time.Millisecond)
		store.fault(hang)
		pass(time.Minute)
		if got := started.get(); len(got) != 1 || got[0].Sub(renewed) != timing.LeaseTTL {
			t.Errorf("started %v, the last renewal was at %v", got, renewed)
		}
		if err := errors.Join(sa.stop(), sb.stop()); err != nil {
			t.Error(err)
		}
		pass(time.Hour)
	})
}

// The stop comes while a renewal has no answer yet. It neither keeps the release from counting, nor is it waited for.
// Failure 17.
func TestStopDuringARenewalReleasesAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		store.fault(only("Renew", func(context.Context, string) error {
			time.Sleep(1500 * time.Millisecond) // and is carried out then, after everything else
			return nil
		}))
		a := mustRunner(t, store, "a", untilDrain, Config{})
		sa := begin(t, a.Run)
		b := mustRunner(t, store.another(), "b", untilDrain, Config{})
		sb := begin(t, b.Run)
		pass(2*time.Second + 100*time.Millisecond)
		if store.count("Renew") != 1 {
			t.Fatal("no renewal is in flight")
		}
		began := time.Now()
		if err := sa.stop(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !b.Held() || time.Since(began) > 10*time.Millisecond {
			t.Errorf("held by b %v, %v after the stop", b.Held(), time.Since(began))
		}
		pass(time.Minute)
		if held, err := store.Leases(t.Context()); err != nil || len(held) != 1 || held[0].Owner != "b" || b.Info().Restarts != 0 {
			t.Errorf("held %v, %v", held, err)
		}
		if err := sb.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A waiter keeps nothing in the store that could be lost while it waits: it wins with a session that is made for the try.
// Failure 35.
func TestAWaiterThatTheStoreHasForgottenWinsARealLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		a := mustRunner(t, store, "a", untilDrain, Config{})
		sa := begin(t, a.Run)
		second := store.another()
		var terms list[lease.Lease]
		b := mustRunner(t, second, "b", func(ctx context.Context, term *Term) error {
			terms.add(lease.Lease{Key: term.Key(), Owner: "b", Token: term.Token()})
			return untilDrain(ctx, term)
		}, Config{})
		sb := begin(t, b.Run)
		pass(5 * time.Second)
		second.fault(down)
		pass(10 * exact.LeaseTTL) // whatever it had is over
		second.fault(nil)
		pass(time.Second)
		if err := sa.stop(); err != nil {
			t.Error(err)
		}
		pass(2 * exact.LeaseTTL) // the hint may have been missed, an answer not
		held, err := store.Leases(t.Context())
		if won := terms.get(); err != nil || len(held) != 1 || len(won) != 1 || held[0].Owner != "b" || held[0].Token != won[0].Token || !b.Held() {
			t.Errorf("the store has %v, %v; the waiter believes %v", held, err, won)
		}
		if err := sb.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A store's client that panics in one renewal has not ended the renewing.
// Failure F11.
func TestARenewalThatPanicsOnceIsNoTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		r := mustRunner(t, store, "a", untilDrain, Config{Observers: []any{rec}})
		s := begin(t, r.Run)
		store.fault(only("Renew", func(context.Context, string) error {
			store.fault(nil)
			panic("driver")
		}))
		pass(time.Minute)
		if n := store.count("Renew"); n < 30 || !r.Held() {
			t.Errorf("%d renewals in 30 intervals, held %v", n, r.Held())
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		equal(t, "states", rec.path(), []State{Standby, Active, Draining, Stopped})
	})
}
