package tenuretest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/memory"
)

// Faults is what goes wrong between one process and its store; see Faulty. It is safe for
// concurrent use, and nothing about it is random: the same calls in the same order meet the same
// faults. Its methods that may fail the test belong on the test's own goroutine.
type Faults struct {
	t      testing.TB
	memory *memory.Store // nil unless that is what is wrapped

	mu      sync.Mutex // never held across a wait or a call of the store
	active  []*Injected
	calls   map[Op]int
	streams map[*stream]struct{}
	over    bool // the test has ended: what hangs is not carried out any more
}

// Injected is a fault in force. It is safe for concurrent use.
type Injected struct {
	faults *Faults
	fault  Fault
	began  time.Time
	timer  *time.Timer   // nil unless it ends by itself
	lifted chan struct{} // closed when it is over

	// Guarded by the faults' mutex.
	skip, met int
	done      bool // lifted
}

// Inject puts a fault in force until it is lifted, by Lift, by Heal, by its own For, or by the end of
// the test. A call meets at most one fault: of those that are about it, the one that was injected first.
// So faults with Times follow each other like lines of a script. A fault that makes no
// sense fails the test at once.
func (f *Faults) Inject(fault Fault) *Injected {
	f.t.Helper()
	if err := fault.check(); err != nil {
		f.t.Fatalf("Inject: %v", err)
	}
	fault.On = slices.Clone(fault.On)
	i := &Injected{faults: f, fault: fault, began: time.Now(), lifted: make(chan struct{}), skip: fault.Skip}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = append(f.active, i)
	if fault.For > 0 {
		i.timer = time.AfterFunc(fault.For, i.Lift)
	}
	if fault.Kind != Hang {
		f.breakStreams(fault)
	}
	return i
}

// Cut parts the process from its store, or from some methods or contracts of it: Inject of a Cut.
func (f *Faults) Cut(on ...Op) *Injected {
	f.t.Helper()
	return f.Inject(Fault{Kind: Cut, On: on})
}

// Heal lifts every fault. What was lost stays lost.
func (f *Faults) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.active) > 0 {
		f.active[0].lift()
	}
}

// Calls returns how often a method, or any method of a contract, was called so far, met faults included.
func (f *Faults) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// Wipe makes the store lose all its data, as a server does that restarts without a disk. The
// wrapped store must be a memory store with Config.Incarnations, which notices: one that forgets silently
// would grant every key twice. The test fails otherwise. To lose only the latest writes, use Snapshot and
// Restore of the memory store.
func (f *Faults) Wipe() {
	f.t.Helper()
	if f.memory == nil {
		f.t.Fatalf("Wipe: the wrapped store is not a *memory.Store; make it lose its data by its own means")
	}
	if !guarded(f.t, f.memory) {
		f.t.Fatalf("Wipe: the memory store was made without Config.Incarnations, so it would forget silently and grant every key twice; set that")
	}
	f.memory.Restore(nil)
}

// Lift ends the fault: what waited goes on. Lifting it twice changes nothing.
func (i *Injected) Lift() {
	i.faults.mu.Lock()
	defer i.faults.mu.Unlock()
	i.lift()
}

// Met returns how many calls the fault has happened to.
func (i *Injected) Met() int {
	i.faults.mu.Lock()
	defer i.faults.mu.Unlock()
	return i.met
}

// lift is Lift. The mutex is held.
func (i *Injected) lift() {
	if i.done {
		return
	}
	i.done = true
	close(i.lifted)
	if i.timer != nil {
		i.timer.Stop()
	}
	f := i.faults
	f.active = slices.DeleteFunc(f.active, func(a *Injected) bool { return a == i })
	if i.fault.Kind == Hang {
		f.breakStreams(i.fault) // they may have missed something
	}
}

// meet counts a call and returns the fault that it meets, nil for none.
func (f *Faults) meet(contract, op Op) *Injected {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	f.calls[contract]++
	for _, i := range f.active {
		if i.spent() || !i.fault.hits(contract, op) {
			continue
		}
		if i.skip > 0 {
			i.skip--
			continue
		}
		i.met++
		return i
	}
	return nil
}

// spent reports whether the fault happens to no further call. One that has met all its calls is
// not lifted by that: some of them may still hang. The mutex is held.
func (i *Injected) spent() bool {
	return i.fault.Times > 0 && i.met >= i.fault.Times || i.fault.For > 0 && time.Since(i.began) >= i.fault.For
}

// end lifts everything, so that nothing outlives the test.
func (f *Faults) end() {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.Heal()
}

func (f *Faults) isOver() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// ErrInjected tells an invented failure of a store from a real one. The errors match
// lease.ErrUnavailable besides; a Fault.Err of one's own is answered as it is.
var ErrInjected = errors.New("tenuretest: injected fault")

// err is what the caller is told.
func (i *Injected) err(op Op) error {
	if i.fault.Err != nil {
		return i.fault.Err
	}
	return fault.Unavailable(string(op), fmt.Errorf("%w: %s", ErrInjected, i.fault.Kind))
}

// through makes one call of the store, unless something goes wrong.
func through[T any](ctx context.Context, f *Faults, contract, op Op, call func(context.Context) (T, error)) (T, error) {
	i := f.meet(contract, op)
	if i == nil || ctx.Err() != nil { // a context that had ended before: nothing happens anyway
		return call(ctx)
	}
	var none T
	switch i.fault.Kind {
	case Fail:
		return none, i.err(op)
	case HalfDone:
		if op != OpWatch { // of a stream there is no half
			_, _ = call(ctx) // whatever the answer was, it is lost
		}
		return none, i.err(op)
	case LateAnswer:
		v, err := call(ctx)
		i.wait(i.fault.Delay)
		return v, err
	case Cut:
		select {
		case <-ctx.Done():
			return none, fault.Unavailable(string(op), fmt.Errorf("%w: %s: %w", ErrInjected, i.fault.Kind, context.Cause(ctx)))
		case <-i.lifted:
			return none, i.err(op)
		}
	case Late:
		i.wait(i.fault.Delay)
	case Hang:
		<-i.lifted
	}
	if f.isOver() {
		return none, i.err(op)
	}
	// The caller may have given up; a request that is on its way arrives all the same.
	return call(context.WithoutCancel(ctx))
}

// wait waits for d, or until the fault is lifted.
func (i *Injected) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-i.lifted:
	}
}
