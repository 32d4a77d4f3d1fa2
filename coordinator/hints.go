package coordinator

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// mostKeys bounds how many keys of hints are remembered one by one; beyond it, all are meant.
const mostKeys = 4096

// hints collects what changed until the loop looks, so that a thousand hints cost one look.
// It is safe for concurrent use and never blocks.
type hints struct {
	mu  sync.Mutex
	got batch
}

// batch is what was hinted at since the last look.
type batch struct {
	members bool                // somebody joined, left or began to drain
	keys    map[string]struct{} // these were released
	all     bool                // something was released, nobody knows what
	planned bool                // targets were written
}

// add notes a hint and reports whether it concerns this coordinator.
func (h *hints) add(c lease.Change, self instance.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch c.Kind {
	case lease.ChangeJoined, lease.ChangeLeft, lease.ChangeDraining:
		// Its own heartbeat told it already; a drain that somebody else marked is news.
		if c.Kind == lease.ChangeJoined && c.Instance == string(self) {
			return false
		}
		h.got.members = true
	case lease.ChangeResync:
		h.got.members, h.got.all, h.got.planned = true, true, true
	case lease.ChangePlanned:
		h.got.planned = true
	case lease.ChangeReleased:
		if c.Key == "" || len(h.got.keys) >= mostKeys {
			h.got.all = true
			break
		}
		if h.got.keys == nil {
			h.got.keys = map[string]struct{}{}
		}
		h.got.keys[c.Key] = struct{}{}
	default:
		return false
	}
	return true
}

// take returns what was collected and starts afresh.
func (h *hints) take() batch {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.got
	h.got = batch{}
	return b
}

// hint is the ear for a store's hints. It returns at once.
func (e *engine) hint(c lease.Change) {
	if e.hints.add(c, e.self.ID) {
		e.poke()
	}
}

// Waits between attempts to watch a registry that is a store of its own.
const (
	watchMin = 100 * time.Millisecond
	watchMax = 5 * time.Second
)

// watch follows the hints of a registry that is another store than the lease manager, whose
// hints the runner set follows anyway, until ctx ends.
func (e *engine) watch(ctx context.Context, w lease.Watcher) {
	wait := watchMin
	for ctx.Err() == nil {
		_, err := shielded(func() (struct{}, error) {
			return struct{}{}, w.Watch(ctx, func(c lease.Change) {
				wait = watchMin
				e.hint(c)
			})
		})
		if ctx.Err() != nil {
			return
		}
		retryIn := e.spread(wait)
		e.logs(func(l *slog.Logger) {
			l.Warn("registry hints interrupted; polling meanwhile", "error", err, "retryIn", retryIn)
		})
		t := e.clock.NewTimer(retryIn)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C():
		}
		wait = min(2*wait, watchMax)
	}
}
