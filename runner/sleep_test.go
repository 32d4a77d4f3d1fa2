package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/lease"
)

// TestSleptMachine: a machine slept through its lease. The term is not valid from the first instruction after the resume, and
// the worker is cancelled within 100 ms of it, although no timer has noticed anything.
func TestSleptMachine(t *testing.T) {
	for _, looks := range []bool{true, false} { // a look at the term must not be needed
		synctest.Test(t, func(t *testing.T) { sleepThrough(t, looks) })
	}
}

func sleepThrough(t *testing.T, looks bool) {
	m := asleep{Clock: clock.Or(nil), slept: new(atomic.Int64)}
	var cancelled time.Time
	terms := make(chan *Term, 8)
	r, err := New(newStore(t), "sleeper", Spec{Key: "k", Work: func(ctx context.Context, term *Term) error {
		terms <- term
		select {
		case <-term.Draining():
			return nil
		case <-ctx.Done():
		}
		cancelled = time.Now()
		if !errors.Is(context.Cause(ctx), lease.ErrLost) {
			t.Errorf("cancelled for %v", context.Cause(ctx))
		}
		return ctx.Err()
	}}, Config{Timing: exact, Clock: m})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- r.Run(ctx) }()
	term := <-terms
	time.Sleep(3 * time.Second)
	if !term.Valid() {
		t.Fatal("not valid before the sleep")
	}
	m.slept.Store(int64(time.Hour))
	resumed := time.Now()
	if looks && (term.Valid() || term.Left() > 0) {
		t.Error("valid after an hour of sleep")
	}
	if next := <-terms; next.Token() <= term.Token() {
		t.Errorf("token %d after %d", next.Token(), term.Token())
	}
	if late := cancelled.Sub(resumed); late < 0 || late > 100*time.Millisecond {
		t.Errorf("cancelled %v after the resume", late)
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
