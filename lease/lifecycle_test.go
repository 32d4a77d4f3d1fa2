package lease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// Failure 35.
func TestNoSessionIsKeptWhileNothingIsHeld(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		a, w := start(t, s, lease.KeeperConfig{}), newWire(s)
		b := start(t, w, lease.KeeperConfig{})
		a.claim("job", &user{})
		after(time.Millisecond)
		b.claim("job", &user{})
		after(5 * time.Second)
		if b.keeper.State().Session == "" {
			t.Error("a waiter has dropped its session, which is good for another try")
		}
		after(4 * time.Second)
		if b.keeper.State().Session != "" {
			t.Error("a waiter keeps a session that is over")
		}
		was := w.count("Acquire")
		after(10 * time.Minute)
		if n := w.count("Acquire") - was; n > 75 {
			t.Errorf("%d acquire calls in 60 TTLs, want at most 1.25 per TTL", n)
		}
		if w.count("Renew") > 0 {
			t.Error("a waiter renews")
		}
		if w.count("CloseSession") > 0 {
			t.Error("a waiter closes its session, which wakes up every other waiter")
		}
		a.end()
		b.end()
	})
}

func TestStopLeavesTheSessionOfAStuckWorkerToLapse(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		r := start(t, s, lease.KeeperConfig{})
		stuck := r.claim("stuck", &user{keep: true})
		r.claim("free", &user{})
		after(time.Millisecond)
		r.end()
		if l := stuck.losses(); len(l) != 1 || l[0].Reason != lease.ReasonStopped {
			t.Fatalf("losses: %v", l)
		}
		held, _ := s.Leases(t.Context())
		if len(held) == 0 {
			t.Fatal("released under a running worker")
		}
		if len(held) != 1 || held[0].Key != "stuck" {
			t.Errorf("held after the stop: %v", held)
		}
		after(10 * time.Second)
		if held, _ := s.Leases(t.Context()); len(held) != 0 {
			t.Errorf("did not lapse: %v", held)
		}
	})
}

func TestCheckAsksTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w, until := newWire(s), make(chan struct{})
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Millisecond)
		h := u.hold()
		if err := h.Check(t.Context()); err != nil {
			t.Errorf("held, but Check says %v", err)
		}
		w.set(hang(until, "Verify"))
		if err := h.Check(t.Context()); !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("store hangs, Check says %v", err)
		}
		w.set(nil)
		close(until)
		l := h.Lease()
		if err := s.Release(t.Context(), lease.Session{ID: l.Session, Owner: l.Owner, TTL: time.Second}, []lease.Lease{l}); err != nil {
			t.Fatal(err)
		}
		if err := h.Check(t.Context()); !errors.Is(err, lease.ErrLost) || h.Valid() {
			t.Errorf("gone, but Check says %v, Valid %v", err, h.Valid())
		}
		r.end()
	})
}

func TestContendAfterIsNotShortenedByHints(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		r := start(t, s, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Millisecond)
		old := u.hold()
		old.Release()
		after(time.Millisecond)
		u.claim.ContendAfter(10 * time.Second)
		r.keeper.Hint(lease.Change{Kind: lease.ChangeReleased, Key: "job"})
		r.keeper.Hint(lease.Change{Kind: lease.ChangeResync})
		after(10*time.Second - time.Millisecond)
		if u.hold() != old {
			t.Fatal("contended early")
		}
		after(time.Millisecond)
		if u.hold() == old {
			t.Fatal("did not contend again")
		}
		r.end()
	})
}

func TestClaimsAreOncePerKey(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		r := start(t, s, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		if _, err := r.keeper.Claim("job", &user{}); !errors.Is(err, lease.ErrHeldHere) {
			t.Errorf("second claim: %v", err)
		}
		after(time.Millisecond)
		u.claim.Close()
		r.claim("job", &user{})
		after(time.Second)
		if err := r.keeper.Run(t.Context()); err == nil {
			t.Error("a second Run was accepted")
		}
		r.end()
		if _, err := r.keeper.Claim("job", &user{}); !errors.Is(err, lease.ErrStopped) {
			t.Errorf("claim after the stop: %v", err)
		}
	})
}

func TestBadArgumentsAreRefusedBeforeAnythingHappens(t *testing.T) {
	s, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.NewKeeper(nil, instance.New(), lease.KeeperConfig{}); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("nil manager: %v", err)
	}
	if _, err := lease.NewKeeper(s, "", lease.KeeperConfig{}); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("no owner: %v", err)
	}
	if _, err := lease.NewKeeper(s, instance.New(), lease.KeeperConfig{VerifySlice: -1}); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("negative slice: %v", err)
	}
	k, err := lease.NewKeeper(s, instance.New(), lease.KeeperConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "a\x00b", "\xff", string(make([]byte, 513))} {
		if _, err := k.Claim(key, &user{}); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}
