package lease_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// guarded runs f on a provisioned store that begins a new incarnation when it loses data.
func guarded(t *testing.T, f func(t *testing.T, s *memory.Store)) {
	t.Helper()
	bubbleWith(t, memory.Config{Incarnations: true}, func(t *testing.T, s *memory.Store) {
		if err := s.Provision(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(t, s)
	})
}

// Failure 57.
func TestWipeLosesNoTermAndGrantsNobodyElse(t *testing.T) {
	for name, lose := range map[string]func(s *memory.Store, early *memory.Snapshot){
		"wiped":                                func(s *memory.Store, _ *memory.Snapshot) { s.Restore(nil) },
		"restored from before the grants":      func(s *memory.Store, early *memory.Snapshot) { s.Restore(early) },
		"failed over and back without a call":  func(s *memory.Store, early *memory.Snapshot) { s.Restore(early); s.Restore(s.Snapshot()) },
		"twice, the second with what was left": func(s *memory.Store, _ *memory.Snapshot) { s.Restore(s.Snapshot()); s.Restore(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			guarded(t, func(t *testing.T, s *memory.Store) {
				early := s.Snapshot()
				a, b := start(t, s, lease.KeeperConfig{}), start(t, s, lease.KeeperConfig{})
				var holders, waiters []*user
				for i := range 250 { // more than two verified slices
					holders = append(holders, a.claim(fmt.Sprint("job-", i), &user{}))
				}
				after(time.Second)
				for i := range 250 {
					waiters = append(waiters, b.claim(fmt.Sprint("job-", i), &user{}))
				}
				after(3 * time.Second)
				lose(s, early)
				after(time.Minute)
				for i, u := range holders {
					if len(u.losses()) != 0 || len(u.holds) != 1 || !u.hold().Valid() {
						t.Fatalf("holder %d: %d terms, losses %v", i, len(u.holds), u.losses())
					}
					if waiters[i].hold() != nil {
						t.Fatalf("job-%d has two owners", i)
					}
				}
				held, err := s.Leases(t.Context())
				if err != nil || len(held) != 250 || held[0] != holders[0].hold().Lease() {
					t.Errorf("the store knows of %d leases, %v", len(held), err)
				}
				a.end()
				b.end()
			})
		})
	}
}

// An answer of an earlier incarnation that arrives after the change must not extend anything.
func TestAnswerOfAnEarlierIncarnationIsIgnored(t *testing.T) {
	guarded(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Second)
		h := u.hold()
		// This renewal is answered by the old incarnation, and its answer comes after two changes.
		w.set(func(_ context.Context, op string, do func() error) error {
			err := do()
			if op == "Renew" {
				s.Restore(nil)
				time.Sleep(500 * time.Millisecond)
				s.Restore(nil)
				time.Sleep(500 * time.Millisecond)
			}
			return err
		})
		after(1500 * time.Millisecond)
		w.set(nil)
		after(time.Minute)
		if !h.Valid() || len(u.losses()) != 0 {
			t.Errorf("lost: %v", u.losses())
		}
		r.end()
	})
}

// Renewals in a new incarnation extend only what was verified in it.
func TestRenewalExtendsOnlyWhatIsProven(t *testing.T) {
	guarded(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Second)
		h := u.hold()
		w.set(func(_ context.Context, op string, do func() error) error {
			if op == "Verify" {
				return lease.ErrUnavailable
			}
			return do()
		})
		after(10 * time.Second) // renewed all the while, verified never: the incarnation is the same
		if !h.Valid() {
			t.Fatal("lost though nothing had changed")
		}
		s.Restore(nil)
		left := h.Left()
		after(left)
		if h.Valid() {
			t.Error("a term went on that nobody proved in the new incarnation")
		}
		r.end()
	})
}

func TestStopDuringTheFreeze(t *testing.T) {
	guarded(t, func(t *testing.T, s *memory.Store) {
		a, b := start(t, s, lease.KeeperConfig{}), start(t, s, lease.KeeperConfig{})
		a.claim("job", &user{})
		after(time.Second)
		ub := b.claim("job", &user{})
		s.Restore(nil)
		after(time.Second)
		a.end()
		after(lease.DefaultMaxTTL - 2*time.Second)
		if ub.hold() != nil {
			t.Fatal("granted during the freeze")
		}
		after(2 * time.Second)
		if ub.hold() == nil {
			t.Error("not granted when the freeze was over")
		}
		b.end()
	})
}

func TestUnprovisionedFleetWaitsOutItsFirstFreeze(t *testing.T) {
	bubbleWith(t, memory.Config{Incarnations: true}, func(t *testing.T, s *memory.Store) {
		r := start(t, s, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(lease.DefaultMaxTTL - time.Millisecond)
		if u.hold() != nil {
			t.Fatal("granted during the first freeze")
		}
		if f := r.keeper.State().FrozenFor; f <= 0 {
			t.Errorf("FrozenFor %v", f)
		}
		after(time.Second)
		if u.hold() == nil {
			t.Error("never granted")
		}
		r.end()
	})
}

// lengthened answers with a freeze while set.
type lengthened struct {
	lease.Manager
	by *atomic.Int64
}

func (l lengthened) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	r, err := l.Manager.Renew(ctx, s)
	r.Incarnation.FrozenFor += time.Duration(l.by.Load())
	return r, err
}

func (l lengthened) Verify(ctx context.Context, s lease.Session, all []lease.Lease) (lease.Verification, error) {
	v, err := l.Manager.Verify(ctx, s, all)
	v.Incarnation.FrozenFor += time.Duration(l.by.Load())
	return v, err
}

// A freeze that had ended is lengthened. While it lasts a late Verify may write again what was let go, as in any freeze:
// when it is over the release is sent once more.
func TestLengthenedFreezeIsFollowedByReleases(t *testing.T) {
	guarded(t, func(t *testing.T, s *memory.Store) {
		var by atomic.Int64
		w := newWire(lengthened{s, &by})
		r := start(t, w, lease.KeeperConfig{})
		r.claim("kept", &user{}) // keeps the session alive
		u := r.claim("job", &user{})
		after(time.Second)
		u.hold().Release()
		after(10 * time.Second)
		before := w.count("Release")
		by.Store(int64(10 * time.Second))
		after(10 * time.Second)
		if n := w.count("Release") - before; n != 0 {
			t.Errorf("%d releases in the freeze", n)
		}
		by.Store(0)
		after(10 * time.Second)
		if n := w.count("Release") - before; n != 1 {
			t.Errorf("%d releases after the freeze, want 1", n)
		}
		r.end()
	})
}
