package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// After a fault that may have broken connections, the next calls of a handle may have unknown
// outcomes, one for each broken connection of its pool. That is as the contract allows, and not what
// the checks are about that use these faults.

func (e *env) kill() {
	e.cfg.Faults.Kill(e.t, e.a)
	e.mend()
}

// snapshot returns what puts the store back to where it is now.
func (e *env) snapshot() (restore func()) {
	back := e.cfg.Faults.Snapshot(e.t, e.a)
	return func() {
		back()
		e.mend()
	}
}

// mend has both handles make calls side by side until all of these have known outcomes.
func (e *env) mend() {
	e.Helper()
	if !e.has(Registry) {
		return
	}
	end := time.Now().Add(10 * time.Second)
	e.each(func(s Store) {
		for !e.settled(s) && time.Now().Before(end) {
			e.sleep(e.unit / 10)
		}
	})
}

func (e *env) settled(s Store) bool {
	const sideBySide = 16
	errs := make([]error, sideBySide)
	var calls sync.WaitGroup
	for i := range errs {
		calls.Go(func() { _, errs[i] = s.Members(e.ctx) })
	}
	calls.Wait()
	return !errors.Is(errors.Join(errs...), lease.ErrUnavailable)
}
