package cli

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/tenure-go/tenure/cmd/tenure/internal/guard"
	"github.com/tenure-go/tenure/lease"
)

// A machine that is so slow that the lease has ended before the command was started has lost the key, and waits for it
// again: nothing is wrong with the command.
func TestACommandThatCameTooLate(t *testing.T) {
	for _, once := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		a := &app{Streams: Streams{Out: io.Discard, Err: io.Discard}}
		l := &leader{app: a, o: runOptions{key: "k", once: once}, stop: stop, stopping: ctx.Done(), events: &events{app: a, key: "k"}}
		err := l.ended(ctx, guard.Result{Err: guard.ErrTooLate})
		status, _ := classify(errors.Join(l.fatal, lease.ErrInvalid))
		switch {
		case !errors.Is(err, errNear):
			t.Errorf("once %t: the term ended with %v", once, err)
		case !once && (l.fatal != nil || ctx.Err() != nil):
			t.Errorf("the program ends: %v", l.fatal)
		case once && (status != exitHeld || ctx.Err() == nil):
			t.Errorf("with --once the program ends with status %d: %v", status, l.fatal)
		}
	}
}
