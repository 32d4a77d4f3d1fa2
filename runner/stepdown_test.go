package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// simple hides every optional capability of a store: no hints, no list of leases.
type simple struct{ lease.Manager }

func TestStepDownLetsSomebodyElseLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		a := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			<-term.Draining()
			time.Sleep(5 * time.Second)
			return nil
		}, Config{Observers: []any{rec}})
		sa := begin(t, a.Run)
		b := mustRunner(t, store, "b", untilDrain, Config{})
		sb := begin(t, b.Run)
		began := time.Now()
		if err := a.StepDown(t.Context()); err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		synctest.Wait()
		if a.Held() || !b.Held() || a.State() != Standby {
			t.Errorf("a %v, b held %v", a.State(), b.Held())
		}
		if i := a.Info(); i.ContendsAt.Sub(time.Now()) != exact.LeaseTTL || i.Last.End != EndSteppedDown {
			t.Errorf("%+v", i)
		}
		pass(2*time.Second + time.Millisecond) // one look later, b was seen holding it
		if i := a.Info(); !i.ContendsAt.IsZero() || i.Holder != "b" {
			t.Errorf("not contending: %+v", i)
		}
		if err := sb.stop(); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		if !a.Held() {
			t.Error("a does not lead after b is gone")
		}
		if err := sa.stop(); err != nil {
			t.Error(err)
		}
		equal(t, "states", rec.path(), []State{Standby, Active, Draining, Standby, Active, Draining, Stopped})
	})
}

func TestStepDownSeesTheNextHolderInTheStatusStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		a := mustRunner(t, simple{store}, "a", untilDrain, Config{Status: store})
		sa := begin(t, a.Run)
		b := mustRunner(t, store, "b", untilDrain, Config{Status: store})
		sb := begin(t, b.Run)
		if err := a.StepDown(t.Context()); err != nil {
			t.Error(err)
		}
		pass(2*time.Second + time.Millisecond)
		if i := a.Info(); !i.ContendsAt.IsZero() || i.Holder != "b" {
			t.Errorf("not contending: %+v", i)
		}
		if err := errors.Join(sa.stop(), sb.stop()); err != nil {
			t.Error(err)
		}
	})
}

func TestStepDownWithNobodyElseWaitsOneTTL(t *testing.T) {
	for name, hide := range map[string]func(*testStore) lease.Manager{
		"with a list":    func(s *testStore) lease.Manager { return s },
		"without a list": func(s *testStore) lease.Manager { return simple{s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				var starts list[time.Time]
				r := mustRunner(t, hide(store), "a", func(ctx context.Context, term *Term) error {
					starts.add(time.Now())
					return untilDrain(ctx, term)
				}, Config{})
				s := begin(t, r.Run)
				down := time.Now()
				if err := r.StepDown(t.Context()); err != nil {
					t.Error(err)
				}
				pass(exact.LeaseTTL - time.Millisecond)
				if len(starts.get()) != 1 {
					t.Error("it contended too early")
				}
				pass(time.Millisecond)
				if got := starts.get(); len(got) != 2 || got[1].Sub(down) != exact.LeaseTTL {
					t.Errorf("starts %v", got)
				}
				if err := s.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestStepDownTakesItsOwnOldStatusForNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", untilDrain, Config{Status: store})
		s := begin(t, r.Run)
		store.fault(only("PutStatus", down)) // Transferring and Inactive are never written
		if err := r.StepDown(t.Context()); err != nil {
			t.Error(err)
		}
		pass(3 * time.Second)
		if i := r.Info(); states(t, store)["job"] != status.Active || i.State != Standby || i.ContendsAt.IsZero() {
			t.Errorf("%v, %+v", states(t, store), i)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStepDownOnStandbyWaitsAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		a := mustRunner(t, simple{store}, "a", untilDrain, Config{})
		sa := begin(t, a.Run)
		b := mustRunner(t, simple{store}, "b", untilDrain, Config{})
		sb := begin(t, b.Run)
		if err := b.StepDown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := sa.stop(); err != nil {
			t.Error(err)
		}
		pass(exact.LeaseTTL - time.Millisecond)
		if b.Held() {
			t.Error("b contended")
		}
		pass(time.Millisecond)
		if !b.Held() {
			t.Error("b does not contend")
		}
		if err := sb.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStepDownGoesOnWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", untilCancelled, Config{})
		s := begin(t, r.Run)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.StepDown(ctx); err != context.DeadlineExceeded {
			t.Error(err)
		}
		pass(exact.DrainTimeout)
		if r.State() != Standby {
			t.Errorf("%v", r.State())
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStepDownReturnsWhenTheTermEndsInAnotherWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", untilDrain, Config{})
		s := begin(t, r.Run)
		store.fault(hang)
		err := make(chan error, 1)
		go func() { err <- r.StepDown(context.Background()) }()
		synctest.Wait()
		s.cancel()
		if err := <-err; err != nil {
			t.Error(err)
		}
		if err := s.wait(); err != nil {
			t.Error(err)
		}
		if err := r.StepDown(t.Context()); err != nil {
			t.Errorf("after Run: %v", err)
		}
		pass(time.Hour)
	})
}

func TestRevokedLeaseIsLikeAStepDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		var cause error
		r := mustRunner(t, store, "a", func(ctx context.Context, _ *Term) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		}, Config{Observers: []any{rec}})
		s := begin(t, r.Run)
		if err := store.Revoke(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		revoked := time.Now()
		synctest.Wait()
		var lost *lease.LostError
		if !errors.As(cause, &lost) || lost.Reason != lease.ReasonRevoked {
			t.Errorf("cause %v", cause)
		}
		if i := r.Info(); i.State != Standby || i.ContendsAt.Sub(revoked) != exact.LeaseTTL || i.Last.End != EndLost {
			t.Errorf("%+v", i)
		}
		pass(exact.LeaseTTL)
		if !r.Held() {
			t.Error("not contended for after the wait")
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestLostLeaseThatWasNotRevokedIsContendedForAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", untilDrain, Config{})
		s := begin(t, r.Run)
		store.Restore(store.Snapshot())
		empty := newStore(t).Snapshot()
		store.Restore(empty)
		pass(3 * time.Second)
		if i := r.Info(); !r.Held() || i.Last.Reason == lease.ReasonRevoked || i.Restarts != 1 {
			t.Errorf("%+v", i)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}
