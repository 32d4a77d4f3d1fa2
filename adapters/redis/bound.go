package redisstore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/tenure-go/tenure/lease"
)

// maxAbandoned is how many calls may be left behind in the client before new ones are refused.
// Without a bound a server that hangs for an hour would collect a goroutine for each retry.
const maxAbandoned = 64

var (
	errVanished        = errors.New("the Redis client's goroutine ended without an answer")
	errClosedMeanwhile = errors.New("the store was closed during the call")
)

// gate counts the calls that were abandoned and have not come back. The zero value is ready.
type gate struct{ abandoned atomic.Int64 }

// bounded runs f beside its caller, who leaves when the context or the store ends, whatever f does: go-redis
// ignores a context while a reply is on its way. A call that was left behind reads as unknown.
func bounded[T any](ctx context.Context, s *Store, op string, f func(context.Context) (T, error)) (T, error) {
	var zero T
	switch {
	case s.closing.Err() != nil:
		return zero, fmt.Errorf("redisstore: %s: %w", op, lease.ErrClosed)
	case ctx.Err() != nil:
		return zero, ended(ctx, op)
	case s.gate.abandoned.Load() >= maxAbandoned:
		return zero, unavailable(op, fmt.Errorf("%d earlier calls have not come back from the Redis client", maxAbandoned))
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closing, cancel)
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	var state atomic.Int32 // 1: came back, 2: abandoned
	go func() {
		defer cancel()
		defer stop()
		a := answer{err: unavailable(op, errVanished)}
		defer func() {
			if r := recover(); r != nil {
				a.err = unavailable(op, fmt.Errorf("the Redis client panicked: %v\n%s", r, debug.Stack()))
			}
			if !state.CompareAndSwap(0, 1) {
				s.gate.abandoned.Add(-1)
			}
			done <- a
		}()
		a.value, a.err = f(ctx)
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
	}
	// Counted before the flag is set, so that a late return always finds something to take back.
	s.gate.abandoned.Add(1)
	if !state.CompareAndSwap(0, 2) {
		s.gate.abandoned.Add(-1)
		a := <-done
		return a.value, a.err
	}
	if s.closing.Err() != nil {
		return zero, unavailable(op, errClosedMeanwhile)
	}
	return zero, ended(ctx, op)
}
