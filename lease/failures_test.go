package lease_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/goroutine"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// The tests of this file are about failures that others had: docs/failures.md.

// A renewal is on its way when its term is let go, and arrives after the next owner has the key.
// Failure 23.
func TestRenewalThatArrivesAfterTheReleaseRevivesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w, until := newWire(s), make(chan struct{})
		a, b := start(t, w, lease.KeeperConfig{}), start(t, s, lease.KeeperConfig{})
		ua := a.claim("job", &user{})
		after(time.Second)
		ub := b.claim("job", &user{})
		w.set(hang(until, "Renew"))
		after(1500 * time.Millisecond) // sent, and not yet arrived
		ua.hold().Release()
		after(10 * time.Millisecond)
		next := ub.hold()
		if next == nil {
			t.Fatal("the release waited for the renewal")
		}
		w.set(nil)
		close(until)
		before := w.count("Renew")
		after(time.Minute)
		if held, err := s.Leases(t.Context()); err != nil || !slices.Equal(held, []lease.Lease{next.Lease()}) || !next.Valid() {
			t.Errorf("held %v, %v", held, err)
		}
		if n := w.count("Renew") - before; n > 1 || ua.hold().Valid() {
			t.Errorf("%d renewals for nothing, valid %v", n, ua.hold().Valid())
		}
		a.end()
		b.end()
	})
}

// A waiter with a short lease of its own waits for as long as the holder's lasts.
// Failure 39.
func TestTheHoldersTTLCountsNotTheWaiters(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w, until := newWire(s), make(chan struct{})
		a := start(t, w, lease.KeeperConfig{Timing: lease.Timing{LeaseTTL: 15 * time.Second}})
		b := start(t, s, lease.KeeperConfig{Timing: lease.Timing{LeaseTTL: time.Second}})
		ua := a.claim("job", &user{})
		after(time.Millisecond)
		ub := b.claim("job", &user{})
		after(3*time.Second - time.Millisecond) // a has just renewed
		w.set(hang(until))
		after(15*time.Second - time.Nanosecond)
		if ub.hold() != nil || ua.hold().Valid() {
			t.Fatalf("before the holder's TTL: held by b %v, valid at a %v", ub.hold() != nil, ua.hold().Valid())
		}
		after(time.Nanosecond)
		if ub.hold() == nil {
			t.Error("not taken over at the end of the holder's TTL")
		}
		close(until)
		a.end()
		b.end()
	})
}

// A hundred processes that start at one instant do not speak to the store at one instant from then on.
// Failure F9.
func TestProcessesThatStartTogetherDoNotRenewTogether(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		began := time.Now()
		var mu sync.Mutex
		var first []time.Duration
		var rigs []*rig
		for i := range 100 {
			w, renewed := newWire(s), false
			w.set(func(_ context.Context, op string, do func() error) error {
				mu.Lock()
				if op == "Renew" && !renewed {
					renewed, first = true, append(first, time.Since(began))
				}
				mu.Unlock()
				return do()
			})
			rigs = append(rigs, start(t, w, lease.KeeperConfig{Timing: lease.Timing{Jitter: 0.5}}))
			rigs[i].claim(fmt.Sprint("job-", i), &user{})
		}
		after(5 * time.Second)
		if len(first) != len(rigs) {
			t.Fatalf("%d of %d have renewed", len(first), len(rigs))
		}
		// Each waits for 2 s, half of it more or less.
		if low, high := slices.Min(first), slices.Max(first); low < time.Second || high > 3*time.Second || high-low < 1600*time.Millisecond {
			t.Errorf("the first renewals came after %v to %v, want 1s to 3s and the most of it", low, high)
		}
		for _, r := range rigs {
			r.end()
		}
	})
}

// Failure 75.
func TestAThousandTermsLeaveNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		const terms = 1000
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{again: true})
		after(time.Second)
		before := goroutine.Count(after)
		for range terms {
			u.hold().Release()
			after(10 * time.Millisecond)
		}
		if n := len(u.holds); n != terms+1 {
			t.Fatalf("%d terms, want %d", n, terms+1)
		}
		if n := goroutine.Count(after) - before; n > 0 {
			t.Errorf("%d goroutines are left behind", n)
		}
		for op, most := range map[string]int{"OpenSession": 1, "Acquire": terms + 1, "Release": terms, "Renew": 16, "Verify": 16} {
			if n := w.count(op); n > most {
				t.Errorf("%d times %s, want %d at most", n, op, most)
			}
		}
		u.claim.Close()
		after(time.Second)
		calls := w.count("Renew")
		after(time.Minute)
		if held, err := s.Leases(t.Context()); err != nil || len(held) > 0 || w.count("Renew") > calls {
			t.Errorf("nothing is claimed: held %v, %v, %d more renewals", held, err, w.count("Renew")-calls)
		}
		r.end()
	})
}

// wallStepped is a machine whose wall clock the test sets. Its monotonic clock goes on as before.
type wallStepped struct {
	clock.Clock
	boot, start time.Time     // one instant, by the real clocks and by those of the bubble
	by          *atomic.Int64 // nanoseconds
}

func (c wallStepped) Now() time.Time {
	now := c.boot.Add(c.Clock.Now().Sub(c.start)) // with a monotonic reading, which a bubble's own times lack
	// Beside such a reading a time.Time keeps its seconds above 30 bits of nanoseconds.
	*(*uint64)(unsafe.Pointer(&now)) += uint64(c.by.Load()/int64(time.Second)) << 30
	return now
}

// Failure 5.
func TestStepsOfTheWallClockMoveNoTerm(t *testing.T) {
	boot := time.Now()
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *memory.Store) {
				var by atomic.Int64
				c := wallStepped{clock.Or(nil), boot, time.Now(), &by}
				w, until := newWire(s), make(chan struct{})
				a, b := start(t, w, lease.KeeperConfig{Clock: c}), start(t, s, lease.KeeperConfig{Clock: c})
				ua := a.claim("job", &user{})
				after(time.Millisecond)
				ub := b.claim("job", &user{})
				was, left := c.Now(), ua.hold().Left()
				by.Store(int64(step))
				if now := c.Now(); now.Sub(was) != 0 || now.Round(0).Sub(was.Round(0)) != step {
					t.Fatalf("the wall clock went from %v to %v", was, now)
				}
				if ua.hold().Left() != left {
					t.Errorf("%v left, then %v", left, ua.hold().Left())
				}
				after(time.Minute + time.Second)
				if len(ua.losses()) > 0 || !ua.hold().Valid() || ub.hold() != nil {
					t.Errorf("losses %v, granted to b %v", ua.losses(), ub.hold() != nil)
				}
				w.set(hang(until))
				left = ua.hold().Left()
				by.Store(int64(-step))
				after(left - time.Nanosecond)
				if !ua.hold().Valid() {
					t.Error("ended before its deadline")
				}
				after(time.Nanosecond)
				if ua.hold().Valid() || len(ua.losses()) != 1 {
					t.Error("did not end at its deadline")
				}
				after(time.Second) // the margin
				if ub.hold() == nil {
					t.Error("not taken over")
				}
				close(until)
				a.end()
				b.end()
			})
		})
	}
}
