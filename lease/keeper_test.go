package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

func TestOneHolderAndTheNextAfterItsRelease(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		a, b := start(t, s, lease.KeeperConfig{}), start(t, s, lease.KeeperConfig{})
		ua := a.claim("job", &user{})
		after(time.Millisecond)
		ub := b.claim("job", &user{})
		after(time.Minute)
		if ua.hold() == nil || !ua.hold().Valid() {
			t.Fatal("the first claim was not granted, or was not kept alive for a minute")
		}
		if ub.hold() != nil {
			t.Fatal("two holders")
		}
		if len(ub.refused) == 0 || ub.refused[0].Owner != ua.hold().Lease().Owner {
			t.Fatalf("the second was not told who holds the key: %v", ub.refused)
		}
		old := ua.hold()
		old.Release()
		if old.Valid() {
			t.Error("valid after Release")
		}
		after(3 * time.Millisecond) // by the hint, not by the poll
		if ub.hold() == nil {
			t.Fatal("not handed over")
		}
		if ub.hold().Lease().Token <= old.Lease().Token {
			t.Errorf("token fell: %d after %d", ub.hold().Lease().Token, old.Lease().Token)
		}
		a.end()
		b.end()
	})
}

// A call that hangs and ignores its context must not keep a term alive for a moment.
// Failures F1, F7, 3.
func TestTermEndsAtSendTimePlusTTLMinusMarginThoughTheStoreHangs(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w, until := newWire(s), make(chan struct{})
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Millisecond)
		began := time.Now()
		h := u.hold()
		left := h.Left()
		w.set(hang(until))
		after(left - time.Nanosecond)
		if !h.Valid() {
			t.Fatal("ended before its deadline")
		}
		after(time.Nanosecond)
		if h.Valid() {
			t.Fatal("valid at its deadline")
		}
		if l := u.losses(); len(l) != 1 || l[0].Reason != lease.ReasonUnreachable || !errors.Is(l[0], lease.ErrLost) {
			t.Fatalf("losses: %v", l)
		}
		if got := u.lostAt[0].Sub(began); got != left {
			t.Errorf("told %v after the last renewal's deadline", got-left)
		}
		after(time.Hour)
		if n := r.keeper.State().Hanging; n > 16 {
			t.Errorf("%d calls hang", n)
		}
		u.claim.Contend()
		w.set(nil)
		close(until)
		after(time.Minute)
		if h := u.hold(); !h.Valid() {
			t.Error("work did not resume by itself when the store returned")
		}
		r.end()
	})
}

// The trust window starts when the renewal was sent, not when its answer came.
// Failure F12.
func TestDeadlineCountsFromBeforeTheCall(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Millisecond)
		h := u.hold()
		w.set(func(_ context.Context, op string, do func() error) error {
			err := do()
			if op == "Renew" {
				time.Sleep(1500 * time.Millisecond) // virtual
			}
			return err
		})
		after(3 * time.Second)
		for range 100 {
			after(100 * time.Millisecond)
			// Each was sent 1.5 s before its answer, so TTL - margin - 1.5 s is the most that one leaves.
			if left := h.Left(); left > 7500*time.Millisecond {
				t.Errorf("%v left", left)
				break
			}
		}
		if !h.Valid() {
			t.Error("lost though every renewal succeeded")
		}
		r.end()
	})
}

// Failure 49.
func TestOutageIsRiddenOutAsPromised(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{Timing: lease.Timing{Jitter: 0.1}})
		u := r.claim("job", &user{})
		after(10 * time.Second)
		for range 20 {
			w.set(func(context.Context, string, func() error) error { return lease.ErrUnavailable })
			after(r.keeper.Timing().Outage())
			w.set(nil)
			after(5 * time.Second)
		}
		if l := u.losses(); len(l) != 0 {
			t.Errorf("lost within the promised outage of %v: %v", r.keeper.Timing().Outage(), l)
		}
		r.end()
	})
}

// Failure 37.
func TestAcquireWhoseAnswerWasLostIsRepeatedAndGrantedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		var tries atomic.Int32
		w.set(func(_ context.Context, op string, do func() error) error {
			if err := do(); op != "Acquire" || tries.Add(1) > 3 {
				return err
			}
			return lease.ErrUnavailable
		})
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(10 * time.Second)
		held, err := s.Leases(t.Context())
		if err != nil || len(held) != 1 || len(u.holds) != 1 || held[0] != u.hold().Lease() {
			t.Errorf("held %v, told %d, %v", held, len(u.holds), err)
		}
		r.end()
	})
}

// A claim given up while its Acquire is unknown must not leave the key taken.
// Failure 37.
func TestUnwantedGrantIsGivenBack(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("answerLost=%v", lost), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *memory.Store) {
				w := newWire(s)
				var first atomic.Bool
				w.set(func(_ context.Context, op string, do func() error) error {
					err := do()
					if op == "Acquire" {
						time.Sleep(100 * time.Millisecond) // virtual
						if lost && first.CompareAndSwap(true, false) {
							return lease.ErrUnavailable
						}
					}
					return err
				})
				r := start(t, w, lease.KeeperConfig{})
				r.claim("other", &user{}) // keeps the session alive
				after(time.Second)
				u := r.claim("job", &user{})
				first.Store(true)
				after(50 * time.Millisecond)
				u.claim.Close()
				after(2 * time.Second)
				held, _ := s.Leases(t.Context())
				if len(held) != 1 || held[0].Key != "other" {
					t.Errorf("held %v", held)
				}
				if u.hold() != nil {
					t.Error("a closed claim was told of a grant")
				}
				r.end()
			})
		})
	}
}

// Failure 33.
func TestLapsedSessionIsLostAtOnceAndANewOneOpened(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{again: true})
		after(time.Millisecond)
		old := u.hold()
		if err := s.CloseSession(t.Context(), lease.Session{ID: old.Lease().Session, Owner: old.Lease().Owner, TTL: time.Second}); err != nil {
			t.Fatal(err)
		}
		after(3 * time.Second)
		if l := u.losses(); len(l) != 1 || l[0].Reason != lease.ReasonExpired {
			t.Fatalf("losses: %v", l)
		}
		if h := u.hold(); h == old || !h.Valid() || h.Lease().Token <= old.Lease().Token || h.Lease().Session == old.Lease().Session {
			t.Errorf("not held anew: %v", h.Lease())
		}
		if old.Valid() || old.Err() == nil {
			t.Error("the old term came back")
		}
		r.end()
	})
}

// The store repeats a grant of this session whose term has ended here.
// Failure 23.
func TestEndedTermNeverComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{})
		r.claim("other", &user{})
		u := r.claim("job", &user{again: true})
		after(time.Millisecond)
		old := u.hold()
		// The release is answered but does not happen.
		w.set(func(_ context.Context, op string, do func() error) error {
			if op == "Release" {
				return nil
			}
			return do()
		})
		old.Release()
		after(time.Second)
		if u.hold() != old {
			t.Fatalf("term with token %d began after token %d had ended", u.hold().Lease().Token, old.Lease().Token)
		}
		w.set(nil)
		after(5 * time.Second)
		if h := u.hold(); h == old || h.Lease().Token <= old.Lease().Token {
			t.Error("the key stayed taken by a term that nobody runs")
		}
		r.end()
	})
}

func TestRevokedLeaseIsLostAndFreeOnlyAfterItsRelease(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		a, b := start(t, s, lease.KeeperConfig{}), start(t, s, lease.KeeperConfig{})
		ua := a.claim("job", &user{keep: true})
		after(time.Millisecond)
		ub := b.claim("job", &user{})
		after(time.Second)
		if err := s.Revoke(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		after(2500 * time.Millisecond) // the next renewal reports the revision, if the hint did not
		if l := ua.losses(); len(l) != 1 || l[0].Reason != lease.ReasonRevoked {
			t.Fatalf("losses: %v", l)
		}
		if ub.hold() != nil {
			t.Fatal("granted to another while the worker had not returned")
		}
		ua.hold().Release()
		after(time.Millisecond)
		if ub.hold() == nil {
			t.Error("not granted after the release")
		}
		a.end()
		b.end()
	})
}

// Failure 31.
func TestRecordRemovedByHandIsNoticedByTheRotatingSlice(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{VerifySlice: 10})
		var users []*user
		for i := range 100 {
			users = append(users, r.claim(fmt.Sprint("job-", i), &user{}))
		}
		after(time.Millisecond)
		for _, i := range []int{3, 50, 99} {
			l := users[i].hold().Lease()
			if err := s.Release(t.Context(), lease.Session{ID: l.Session, Owner: l.Owner, TTL: time.Second}, []lease.Lease{l}); err != nil {
				t.Fatal(err)
			}
		}
		after(12 * 2 * time.Second) // 100/10 slices, one an interval, and slack
		for i, u := range users {
			if lost := len(u.losses()) > 0; lost != (i == 3 || i == 50 || i == 99) {
				t.Errorf("job-%d lost: %v", i, lost)
			}
		}
		r.end()
	})
}

// Failures F10, 79.
func TestRenewingTenThousandLeasesIsOneCall(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{})
		var last *user
		for i := range 10_000 {
			last = r.claim(fmt.Sprint("job-", i), &user{})
		}
		after(time.Second)
		if n := r.keeper.State().Held; n != 10_000 {
			t.Fatalf("holds %d", n)
		}
		before := [2]int{w.count("Renew"), w.count("Verify")}
		after(100 * time.Second)
		if n := w.count("Renew") - before[0]; n > 51 {
			t.Errorf("%d renewals in 50 intervals", n)
		}
		if n := w.count("Verify") - before[1]; n > 51 {
			t.Errorf("%d verified slices in 50 intervals", n)
		}
		if !last.hold().Valid() {
			t.Error("lost")
		}
		r.end()
		if held, _ := s.Leases(t.Context()); len(held) != 0 {
			t.Errorf("%d leases left behind", len(held))
		}
	})
}
