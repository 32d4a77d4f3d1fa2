package tenuretest

import (
	"context"
	"fmt"

	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
)

// stream is one open Watch.
type stream struct {
	contract Op
	stop     context.CancelCauseFunc
}

// watches is a lease.Watcher with faults.
type watches struct {
	faults   *Faults
	store    lease.Watcher
	contract Op
}

// Watch is a call like any other while it begins, so that it can fail or hang; once it is open a
// fault breaks it, as a broken connection would.
func (w watches) Watch(ctx context.Context, hear func(lease.Change)) error {
	return act(ctx, w.faults, w.contract, OpWatch, func(context.Context) error {
		if hear == nil {
			return w.store.Watch(ctx, nil) // refused by the store
		}
		// ctx is the caller's own also after a hang: a stream ends with its reader.
		open, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		s := &stream{contract: w.contract, stop: stop}
		w.faults.openStream(s)
		defer w.faults.closeStream(s)
		err := w.store.Watch(open, func(c lease.Change) {
			if !w.faults.silent(w.contract) {
				hear(c)
			}
		})
		if cause := context.Cause(open); ctx.Err() == nil && cause != nil {
			return fault.Unavailable(string(OpWatch), cause)
		}
		return err
	})
}

func (f *Faults) openStream(s *stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[s] = struct{}{}
}

func (f *Faults) closeStream(s *stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.streams, s)
}

// breakStreams ends the open streams that a fault is about. The mutex is held.
func (f *Faults) breakStreams(why Fault) {
	for s := range f.streams {
		if why.hits(s.contract, OpWatch) {
			s.stop(fmt.Errorf("%w: %s: stream broken", ErrInjected, why.Kind))
		}
	}
}

// silent reports whether hints are kept back now.
func (f *Faults) silent(contract Op) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.active {
		if i.fault.Kind == Hang && i.fault.hits(contract, OpWatch) {
			return true
		}
	}
	return false
}
