// Package call bounds calls into code that may hang.
//
// A store's client may ignore its context. The engines' deadlines must not wait for
// it, so every call runs beside its caller, who leaves at the deadline; a Gate
// bounds how many calls may be left behind.
package call

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
)

// A Gate counts the calls that were abandoned and have not come back.
// The zero value is ready; it is safe for concurrent use.
type Gate struct{ out atomic.Int64 }

// MaxAbandoned is how many calls a gate lets hang before it refuses new ones.
// Without a bound a store that hangs for an hour would collect a goroutine for each retry.
const MaxAbandoned = 16

// Abandoned returns how many abandoned calls have not come back.
func (g *Gate) Abandoned() int { return int(g.out.Load()) }

// late is the cause of a context that ended because no answer came in time. It is made for every call and
// nearly never read, so its text is written when it is.
type late time.Duration

// Error names the time.
func (l late) Error() string {
	return fmt.Sprintf("no answer within %v: %v", time.Duration(l), context.DeadlineExceeded)
}

// Unwrap has it match context.DeadlineExceeded.
func (late) Unwrap() error { return context.DeadlineExceeded }

// Do runs f with a context that ends after limit and returns at that end whatever f does.
// An abandoned or panicking call reads as fault.ErrUnavailable: its outcome is unknown.
func Do[T any](ctx context.Context, g *Gate, op string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, fault.Unavailable(op, context.Cause(ctx))
	}
	if g.out.Load() >= MaxAbandoned {
		return zero, fault.Unavailable(op, fmt.Errorf("%d earlier calls have not returned", MaxAbandoned))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late(limit))
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	var state atomic.Int32 // 1: returned, 2: abandoned
	go func() {
		defer cancel()
		var a answer
		defer func() {
			if r := recover(); r != nil {
				a.err = fault.Unavailable(op, fmt.Errorf("store panicked: %v\n%s", r, debug.Stack()))
			}
			if !state.CompareAndSwap(0, 1) {
				g.out.Add(-1)
			}
			done <- a
		}()
		a.v, a.err = f(ctx)
	}()
	select {
	case a := <-done:
		return a.v, a.err
	case <-ctx.Done():
	}
	// Count before the flag is set, so that the late return always finds something to take back.
	g.out.Add(1)
	if !state.CompareAndSwap(0, 2) {
		g.out.Add(-1)
		a := <-done
		return a.v, a.err
	}
	return zero, fault.Unavailable(op, context.Cause(ctx))
}
