package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/long"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// A process that works through ever new keys must not remember each of them for ever.
// Failure 75.
func TestEndedTokensAreForgottenLongAfterTheirKeyIsNotClaimedAnyMore(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		r := start(t, s, lease.KeeperConfig{Clock: stepping{clock.Or(nil), new(atomic.Int64)}})
		r.claim("anchor", &user{})
		kept := r.claim("kept", &user{})
		after(time.Millisecond)
		kept.hold().Release()
		for i := range long.Or(600, 200) {
			u := r.claim(fmt.Sprintf("job %d", i), &user{})
			after(time.Minute)
			if u.hold() == nil {
				t.Fatal("not granted")
			}
			u.hold().Release()
			u.claim.Close()
		}
		if n := r.keeper.Ended(); n > 150 { // 120 in two hours
			t.Errorf("%d ended tokens are remembered in hours", n)
		}
		if r.keeper.NewestEnded("kept") != kept.hold().Lease().Token {
			t.Error("the token of a key that is claimed still was forgotten")
		}
		r.end()
	})
}

// A store that cannot answer for all keys in time is asked for fewer.
func TestLateAcquireIsRetriedWithFewerKeys(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := &slowAcquire{newWire(s)}
		r := start(t, w, lease.KeeperConfig{})
		var all []*user
		for i := range 100 {
			all = append(all, r.claim(fmt.Sprintf("job %03d", i), &user{}))
		}
		after(time.Minute)
		for _, u := range all {
			if u.hold() == nil || !u.hold().Valid() {
				t.Fatal("not granted")
			}
		}
		r.end()
	})
}

// slowAcquire takes 50 ms for each key, and does nothing where that is too long.
type slowAcquire struct{ *wire }

func (w *slowAcquire) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	select {
	case <-time.After(time.Duration(len(keys)) * 50 * time.Millisecond): // virtual
		return w.wire.Acquire(ctx, s, keys)
	case <-ctx.Done():
		return lease.Grant{}, errors.Join(lease.ErrUnavailable, ctx.Err())
	}
}

// The entry of a key outlives its claim while a grant is on its way.
func TestNewClaimIsNotBoundByTheWaitOfAnEarlierOne(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		other := start(t, s, lease.KeeperConfig{})
		held := other.claim("job", &user{})
		after(time.Millisecond)
		w := newWire(s)
		w.set(func(_ context.Context, op string, do func() error) error {
			if op == "Acquire" {
				time.Sleep(time.Second) // virtual
			}
			return do()
		})
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(500 * time.Millisecond)
		u.claim.ContendAfter(time.Hour)
		u.claim.Close()
		again := r.claim("job", &user{})
		after(time.Second)
		w.set(nil)
		held.hold().Release()
		after(time.Millisecond)
		r.keeper.Hint(lease.Change{Kind: lease.ChangeReleased, Key: "job"}) // the wire passes no hints on
		after(10 * time.Millisecond)
		if again.hold() == nil {
			t.Error("the hint was ignored")
		}
		r.end()
		other.end()
	})
}

func TestWaitForEverDoesNotWrapAround(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		r := start(t, s, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Millisecond)
		u.hold().Release()
		u.claim.ContendAfter(math.MaxInt64)
		after(time.Hour)
		if len(u.holds) != 1 {
			t.Errorf("contended %d times, want once", len(u.holds))
		}
		r.end()
	})
}

// False is final, though the clock be read a little earlier afterwards, and the keeper says so at the
// latest with its next renewal.
func TestTermThatWasSeenToBeOverNeverComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		var slept atomic.Int64
		r := start(t, s, lease.KeeperConfig{Clock: stepping{clock.Or(nil), &slept}})
		u := r.claim("job", &user{})
		after(time.Second)
		h := u.hold()
		slept.Store(int64(time.Hour))
		if h.Valid() {
			t.Fatal("valid after an hour of sleep")
		}
		slept.Store(0) // as if the reading had been wrong
		if h.Valid() || h.Left() > 0 {
			t.Error("valid again")
		}
		after(3 * time.Second)
		if len(u.losses()) != 1 {
			t.Errorf("losses: %v", u.losses())
		}
		r.end()
	})
}

// stepping is a clock that the test sets forward and back between two looks of the keeper.
type stepping struct {
	clock.Clock
	slept *atomic.Int64
}

func (s stepping) Slept() time.Duration     { return time.Duration(s.slept.Load()) }
func (s stepping) SleepPoll() time.Duration { return 0 }

// calls counts CallEvents; its neighbour panics at each.
type (
	calls    struct{ n atomic.Int64 }
	panicker struct{}
)

func (c *calls) ObserveCall(lease.CallEvent)   { c.n.Add(1) }
func (panicker) ObserveCall(lease.CallEvent)   { panic("observer") }
func (panicker) ObserveTerm(lease.TermEvent)   { panic("observer") }
func (panicker) ObserveRenew(lease.RenewEvent) { panic("observer") }

func TestPanicOfOneObserverIsNotTheNextOnes(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		c := &calls{}
		r := start(t, s, lease.KeeperConfig{Observers: []any{panicker{}, c}})
		u := r.claim("job", &user{})
		after(10 * time.Second)
		if c.n.Load() == 0 || !u.hold().Valid() {
			t.Errorf("%d events", c.n.Load())
		}
		r.end()
	})
}

func TestTimingForLongLeases(t *testing.T) {
	got, err := lease.Timing{LeaseTTL: 24 * time.Hour}.Resolve()
	if err != nil || got.CallTimeout != 10*time.Second {
		t.Errorf("CallTimeout %v, %v: nobody waits for a hanging store for hours", got.CallTimeout, err)
	}
}

// A blip of the store must not keep a process with a long TTL from its keys for long.
// Failure 47.
func TestLongLeaseIsContendedForSoonAfterABlip(t *testing.T) {
	bubbleWith(t, memory.Config{MaxTTL: 24 * time.Hour}, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		w.set(func(context.Context, string, func() error) error { return lease.ErrUnavailable })
		r := start(t, w, lease.KeeperConfig{Timing: lease.Timing{LeaseTTL: 24 * time.Hour}})
		u := r.claim("job", &user{})
		after(time.Hour)
		w.set(nil)
		after(11 * time.Second)
		if u.hold() == nil {
			t.Error("not granted 11 s after the store came back")
		}
		r.end()
	})
}

// Failure F3.
func TestShortestLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		r := start(t, s, lease.KeeperConfig{Timing: lease.Timing{LeaseTTL: lease.MinTTL}})
		u := r.claim("job", &user{})
		after(time.Second)
		if u.hold() == nil || !u.hold().Valid() || len(u.losses()) > 0 {
			t.Error("a lease of 10 ms was not kept")
		}
		r.end()
	})
}
