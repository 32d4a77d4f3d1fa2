package resolver

import (
	"context"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
)

// Waits between attempts to follow the hints.
const (
	watchMin = 100 * time.Millisecond
	watchMax = 5 * time.Second
)

// Run follows the hints of the store until ctx ends, so that answers are newer than MaxAge asks for. It is
// optional. It returns nil when ctx ends, also where the store has no hints. A process whose engine is told of
// hints already (runner.Config.OnChange) passes them to Hint instead, and spares the store a connection.
func (r *Resolver) Run(ctx context.Context) error {
	if r.cfg.Hints == nil {
		<-ctx.Done()
		return nil
	}
	wait := watchMin
	for ctx.Err() == nil {
		began := r.line.Now()
		if err := r.watch(ctx); ctx.Err() == nil {
			safely(func() {
				r.cfg.Logger.Warn("hints interrupted; answers are as old as MaxAge meanwhile", "error", err, "retryIn", wait)
			})
		}
		if r.line.Now()-began > watchMax {
			wait = watchMin // it worked for a while
		}
		t := r.cfg.Clock.NewTimer(wait)
		select {
		case <-t.C():
		case <-ctx.Done():
			t.Stop()
		}
		wait = min(2*wait, watchMax)
	}
	return nil
}

// watch is one subscription. A store's panic must not end the process.
func (r *Resolver) watch(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Unavailable("Watch", fmt.Errorf("store panicked: %v", p))
		}
	}()
	return r.cfg.Hints.Watch(ctx, r.Hint)
}

// Hint says that something has changed: what it is about is asked anew when it is next wanted. It does no I/O
// and never blocks.
func (r *Resolver) Hint(c lease.Change) {
	turn := r.next()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case c.Kind == lease.ChangePlanned:
		return // who should run what; the statuses follow
	case (c.Kind == lease.ChangeReleased || c.Kind == lease.ChangeRevoked) && c.Key != "":
		if e := r.entries[c.Key]; e != nil {
			e.stale = turn
		}
	default:
		r.stale = turn
	}
}
