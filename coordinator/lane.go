package coordinator

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tenure-go/tenure/internal/call"
)

// lane is one kind of work that must not hold up the loop: a store call, or the user's assigner.
// At most one of a kind is in flight, so a hanging one delays neither the other kinds nor, once it
// was abandoned, its own successor. The loop owns it.
type lane struct {
	busy bool
	gate call.Gate
}

// ask sends a store call that is bounded whatever the store does, and has the loop apply its answer.
func ask[T any](l *loop, ln *lane, op string, f func(context.Context) (T, error), then func(T, time.Duration, error)) {
	aside(l, ln, func() (T, error) {
		return call.Do(l.calls, &ln.gate, op, l.e.timing.CallTimeout, f)
	}, then)
}

// aside runs f beside the loop, which applies the answer. A panic of f reads as an error.
func aside[T any](l *loop, ln *lane, f func() (T, error), then func(T, time.Duration, error)) {
	ln.busy = true
	sent := l.e.line.Now()
	go func() {
		v, err := shielded(f)
		took := l.e.line.Now() - sent
		select {
		case l.answers <- func() {
			ln.busy = false
			then(v, took, err)
		}:
		case <-l.done:
		}
	}()
}

func shielded[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("tenure: panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
