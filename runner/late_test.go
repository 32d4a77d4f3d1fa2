package runner

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// asleep is a machine whose sleep the test chooses: timers know nothing of it.
type asleep struct {
	clock.Clock
	slept *atomic.Int64
}

func (a asleep) Slept() time.Duration     { return time.Duration(a.slept.Load()) }
func (a asleep) SleepPoll() time.Duration { return 50 * time.Millisecond }

// Work that looks at Valid may be faster than the keeper. It has not finished its job then: the term
// was lost, and it runs again.
func TestWorkThatReturnsFromAnExpiredTermIsNotFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		var terms atomic.Int64
		rec := &recorder{}
		r := mustRunner(t, newStore(t), "a", func(ctx context.Context, term *Term) error {
			terms.Add(1)
			for term.Valid() {
				select {
				case <-term.Draining():
					return nil
				case <-time.After(time.Millisecond):
				}
			}
			return nil
		}, Config{Timing: exact, Clock: asleep{clock.Or(nil), &slept}, Observers: []any{rec}})
		s := begin(t, r.Run)
		pass(time.Second + 500*time.Microsecond)
		slept.Store(int64(time.Minute))
		pass(time.Minute)
		if n := terms.Load(); n < 2 {
			t.Errorf("work ran %d times, want again after the loss", n)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if w := rec.works.get(); len(w) < 1 || w[0].End != EndLost || w[0].Reason != lease.ReasonUnreachable {
			t.Errorf("ends: %+v", w)
		}
	})
}

func TestBackoffNeitherWrapsAroundNorExceedsItsMost(t *testing.T) {
	for _, b := range []Backoff{{Min: time.Second, Max: longestWait}, {Min: longestWait, Max: longestWait}, {Min: 3, Max: 7}} {
		last := time.Duration(0)
		for n := 1; n < 200; n++ {
			w := b.wait(n, 0.999)
			if w < last || w > b.Max {
				t.Fatalf("%+v: wait %d is %v after %v", b, n, w, last)
			}
			last = w
		}
		if w := b.wait(math.MaxInt, 0); w < b.Max/2-1 {
			t.Errorf("%+v: %v at last", b, w)
		}
	}
	if _, err := NewSet(newStore(t), "a", Config{Backoff: Backoff{Max: math.MaxInt64}}); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// Whoever waits for a step-down of a stuck worker is told once its key has been given up.
func TestStepDownEndsWithTheRunThatItBelongsTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		r := mustRunner(t, newStore(t), "a", func(context.Context, *Term) error { <-let; return nil }, Config{})
		s := begin(t, r.Run)
		down := make(chan error, 1)
		go func() { down <- r.StepDown(context.Background()) }()
		pass(time.Second)
		if err := s.stop(); !errors.Is(err, ErrStuck) {
			t.Fatal(err)
		}
		close(let)
		pass(time.Second)
		s = begin(t, r.Run)
		pass(time.Second)
		select {
		case err := <-down:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("StepDown hangs though the worker has returned")
		}
		_ = s.stop()
		pass(time.Minute)
	})
}

// A status store that hangs for ever at the end of each term costs one call timeout each, and no goroutines
// without bound.
func TestHangingStatusStoreDelaysEachReleaseByOneCallOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		other := store.another()
		let := make(chan struct{})
		store.fault(func(_ context.Context, op string) error {
			if op == "PutStatus" {
				<-let
			}
			return nil
		})
		rec := &recorder{}
		r := mustRunner(t, store, "a", func(context.Context, *Term) error { return errors.New("failed") },
			Config{Timing: exact, Status: store, Observers: []any{rec}, Backoff: Backoff{Min: time.Second, Max: time.Second}})
		s := begin(t, r.Run)
		pass(5 * time.Minute)
		works := rec.works.get()
		if len(works) < 60 {
			t.Errorf("%d terms in 5 min", len(works))
		}
		for _, w := range works {
			if w.WindDown > 2*time.Second {
				t.Errorf("released %v after the work's return", w.WindDown)
				break
			}
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if held, err := other.Leases(t.Context()); err != nil || slices.ContainsFunc(held, func(l lease.Lease) bool { return l.Key == "job" }) {
			t.Errorf("still held: %v, %v", held, err)
		}
		close(let)
		pass(time.Minute)
	})
}

// The grant was made, and the loop hears of it only after the stop.
// Failure 25.
func TestAGrantThatMeetsItsStopStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		store.fault(func(_ context.Context, op string) error {
			if op == "Acquire" {
				time.Sleep(time.Second)
			}
			return nil
		})
		var ran atomic.Int64
		set := mustSet(t, store, "a", Config{})
		mustStart(t, set, Spec{Key: "job", Work: func(context.Context, *Term) error { ran.Add(1); return nil }})
		s := begin(t, set.Run)
		set.post(func() {
			time.Sleep(1500 * time.Millisecond) // the grant comes meanwhile
			set.stop(set.workloads["job"])
		})
		pass(5 * time.Second)
		if ran.Load() != 0 {
			t.Error("work started after its stop")
		}
		if held, err := store.Leases(t.Context()); err != nil || len(held) > 0 {
			t.Errorf("still held: %v, %v", held, err)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestALeaseIsKeptUntilItsLastStatusIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		store.fault(func(_ context.Context, op string) error {
			if op == "PutStatus" {
				time.Sleep(500 * time.Millisecond) // slow; two of them are within the bound
			}
			return nil
		})
		set := mustSet(t, store, "a", Config{Status: store})
		mustStart(t, set, Spec{Key: "job", Work: untilDrain})
		s := begin(t, set.Run)
		pass(5 * time.Second)
		set.Stop("job")
		pass(5 * time.Second)
		trace := store.noted()
		said, let := slices.Index(trace, string(status.Inactive)), slices.Index(trace, "release")
		if said < 0 || let < said {
			t.Errorf("order: %v", trace)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}
