package runner

import (
	"errors"
	"fmt"
	"strings"
)

// Errors. Test with errors.Is.
var (
	// ErrStuck: a worker had not returned when its time was over. The error is a *StuckError. Its
	// lease lapses by itself once Run has returned: end the process before that matters, or wait for
	// the worker.
	ErrStuck = errors.New("tenure: worker ignored its cancellation")
	// ErrRunning: Run was called while an earlier Run had not returned.
	ErrRunning = errors.New("tenure: Run was called already and has not returned")
	// ErrExited: the work ended its goroutine by runtime.Goexit instead of returning.
	ErrExited = errors.New("tenure: work called runtime.Goexit")
)

// StuckError names the keys whose workers had not returned. It matches ErrStuck.
type StuckError struct{ Keys []string }

// Error names the keys, the first few where there are many.
func (e *StuckError) Error() string {
	const most = 5
	keys, more := e.Keys, ""
	if len(keys) > most {
		keys, more = keys[:most], fmt.Sprintf(" and %d more", len(keys)-most)
	}
	quoted := make([]string, len(keys))
	for i, k := range keys {
		quoted[i] = fmt.Sprintf("%q", k)
	}
	return fmt.Sprintf("%v: %s%s", ErrStuck, strings.Join(quoted, ", "), more)
}

// Is makes errors.Is(err, ErrStuck) hold.
func (e *StuckError) Is(target error) bool { return target == ErrStuck }

// PanicError is the failure of work that panicked.
type PanicError struct {
	// Value is what was passed to panic.
	Value any
	// Stack is the stack of the worker at the panic.
	Stack []byte
}

// Error shows the value; the stack is in its field and in the log.
func (e *PanicError) Error() string { return fmt.Sprintf("tenure: work panicked: %v", e.Value) }

// Unwrap returns the value where that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
