package tenuretest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
)

// Kind says what goes wrong with a call.
type Kind string

// The kinds of faults. What the caller sees is the same for several of them, an unknown outcome;
// what has become of the store is not.
const (
	// Fail: nothing is done, and an error is answered at once.
	Fail Kind = "fail"
	// HalfDone: the call is done, but its answer is lost: an error comes instead.
	HalfDone Kind = "half done"
	// Hang: no answer comes, whatever the context says, until the fault is lifted. The call is
	// carried out then, though its caller may be long gone.
	Hang Kind = "hang"
	// Late: the call reaches the store after Delay, whatever the context says, and is done then.
	Late Kind = "late"
	// LateAnswer: the call is done at once, and its answer comes after Delay, whatever the context says.
	LateAnswer Kind = "late answer"
	// Cut: a network partition under a well-behaved client: nothing reaches the store, and an
	// error comes when the context ends or the fault is lifted.
	Cut Kind = "cut"
)

// Fault is something that goes wrong; see Faults.Inject. Only Kind is required.
type Fault struct {
	Kind Kind
	// On lists the methods or contracts that it happens to; empty means every method.
	On []Op
	// Skip is how many calls are spared first.
	Skip int
	// Times is how many calls it happens to; 0 means every one until the fault is lifted.
	Times int
	// For is how long after Inject the fault is lifted by itself; 0 means never.
	For time.Duration
	// Delay is how late a Late or LateAnswer is; it must be above 0 for them, and 0 for the others.
	Delay time.Duration
	// Err is what Fail and HalfDone answer; nil means an error that matches lease.ErrUnavailable. The Err of
	// a HalfDone must match that: a store that refuses a call has not done it.
	Err error
}

// check returns an error that names the field, its value and the remedy.
func (f Fault) check() error {
	for i, op := range f.On {
		if err := op.check(fmt.Sprintf("Fault.On[%d]", i)); err != nil {
			return err
		}
	}
	late := f.Kind == Late || f.Kind == LateAnswer
	switch kinds := []Kind{Fail, HalfDone, Hang, Late, LateAnswer, Cut}; {
	case !slices.Contains(kinds, f.Kind):
		return fault.Invalid("Fault.Kind", string(f.Kind), fmt.Sprintf("must be one of %q", kinds))
	case late && f.Delay <= 0:
		return fault.Invalid("Fault.Delay", f.Delay, fmt.Sprintf("must be above 0 for the kind %q", f.Kind))
	case !late && f.Delay != 0:
		return fault.Invalid("Fault.Delay", f.Delay, fmt.Sprintf("must be 0 for the kind %q; Late and LateAnswer use it", f.Kind))
	case late && slices.Contains(f.On, OpWatch):
		return fault.Invalid("Fault.On", string(OpWatch), fmt.Sprintf("must not be listed for the kind %q: a stream of hints has no answer to be late", f.Kind))
	case f.Skip < 0:
		return fault.Invalid("Fault.Skip", f.Skip, "must not be negative")
	case f.Times < 0:
		return fault.Invalid("Fault.Times", f.Times, "must not be negative; 0 means every call")
	case f.For < 0:
		return fault.Invalid("Fault.For", f.For, "must not be negative; 0 means until the fault is lifted")
	case f.Err != nil && f.Kind != Fail && f.Kind != HalfDone:
		return fault.Invalid("Fault.Err", f.Err, fmt.Sprintf("must be nil for the kind %q; Fail and HalfDone use it", f.Kind))
	case f.Err != nil && f.Kind == HalfDone && !errors.Is(f.Err, lease.ErrUnavailable):
		return fault.Invalid("Fault.Err", f.Err, "must match lease.ErrUnavailable for a HalfDone: a store that refuses a call has not done it")
	}
	return nil
}

// hits reports whether the fault is about a method of a contract.
func (f Fault) hits(contract, op Op) bool {
	if op == OpWatch && (f.Kind == Late || f.Kind == LateAnswer) {
		return false
	}
	return len(f.On) == 0 || slices.Contains(f.On, op) || slices.Contains(f.On, contract)
}
