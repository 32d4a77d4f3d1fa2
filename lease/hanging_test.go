package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// A store that hangs for ever in one kind of call must not take the others with it, however many
// of those calls have been left behind.
// Failure 3.
func TestOneKindOfCallThatHangsHoldsUpNoOther(t *testing.T) {
	for _, op := range []string{"Acquire", "Verify", "Release"} {
		t.Run(op, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *memory.Store) {
				w, until := newWire(s), make(chan struct{})
				r := start(t, w, lease.KeeperConfig{})
				kept, given := r.claim("kept", &user{}), r.claim("given", &user{})
				after(time.Millisecond)
				w.set(hang(until, op))
				given.hold().Release()
				r.claim("wanted", &user{})
				after(10 * time.Minute)
				if !kept.hold().Valid() {
					t.Errorf("lost though the store renews it: %v", kept.losses())
				}
				if n := r.keeper.State().Hanging; n > 32 {
					t.Errorf("%d calls hang", n)
				}
				close(until)
				r.end()
			})
		})
	}
}

// Many callers of Check that hang must not keep the keeper from verifying and saying farewell.
func TestHangingChecksHoldUpNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w, until := newWire(s), make(chan struct{})
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Millisecond)
		w.set(hang(until, "Verify"))
		for range 20 {
			go func() { _ = u.hold().Check(t.Context()) }()
		}
		after(20 * time.Second)
		if !u.hold().Valid() {
			t.Error("lost")
		}
		r.end()
		other := start(t, s, lease.KeeperConfig{})
		next := other.claim("job", &user{})
		after(time.Millisecond)
		if next.hold() == nil {
			t.Error("the session was not closed at the end")
		}
		close(until)
		other.end()
	})
}

// outdated answers Verify as a store of an earlier incarnation would.
type outdated struct{ lease.Manager }

func (o outdated) Verify(ctx context.Context, s lease.Session, l []lease.Lease) (lease.Verification, error) {
	v, err := o.Manager.Verify(ctx, s, l)
	v.Incarnation.Number--
	return v, err
}

func TestCheckBelievesNoAnswerOfAnEarlierIncarnation(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		r := start(t, outdated{s}, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Millisecond)
		if err := u.hold().Check(t.Context()); !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("Check = %v, want ErrUnavailable: the answer proves nothing", err)
		}
		r.end()
	})
}

// blocker is a claimant that keeps the loop busy for a while.
type blocker struct{ user }

func (*blocker) Refused(lease.Refusal) { time.Sleep(3 * time.Second) } // virtual

func TestCheckIsNotNilWhereItsAnswerCouldNotBeApplied(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		other := start(t, s, lease.KeeperConfig{})
		other.claim("taken", &user{})
		after(time.Millisecond)
		r := start(t, s, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Second)
		l := u.hold().Lease()
		if err := s.Release(t.Context(), lease.Session{ID: l.Session, Owner: l.Owner, TTL: time.Second}, []lease.Lease{l}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.keeper.Claim("taken", &blocker{}); err != nil {
			t.Fatal(err)
		}
		after(time.Millisecond) // the loop is busy now
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := u.hold().Check(ctx); err == nil {
			t.Error("Check = nil for a lease that the store does not know")
		}
		r.end()
		other.end()
	})
}

// A store that forgets every session at once costs it some calls a second, not all of the machine.
// Failure 75.
func TestSessionsThatLapseAtOnceAreNotReopenedInATightLoop(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		w.set(func(_ context.Context, op string, do func() error) error {
			time.Sleep(time.Millisecond) // virtual; so that a tight loop ends
			if op == "Acquire" {
				return fmt.Errorf("refused: %w", lease.ErrSessionLapsed)
			}
			return do()
		})
		r := start(t, w, lease.KeeperConfig{})
		r.claim("job", &user{})
		after(time.Second)
		if n := w.count("OpenSession"); n > 20 {
			t.Errorf("%d sessions opened within a second", n)
		}
		r.end()
	})
}
