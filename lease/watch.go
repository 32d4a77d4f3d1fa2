package lease

import (
	"container/heap"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
)

// Waits between attempts to watch: short enough that a blip costs little, long enough that a
// store without a working notification path is not hammered.
const (
	watchMin = 100 * time.Millisecond
	watchMax = 5 * time.Second
)

// watch follows the store's hints, where it gives any, until ctx ends.
func (k *Keeper) watch(ctx context.Context) {
	w, ok := k.manager.(Watcher)
	if !ok {
		return
	}
	wait := watchMin
	for ctx.Err() == nil {
		began := k.line.Now()
		err := watchOnce(ctx, w, k.Hint)
		if ctx.Err() != nil {
			return
		}
		if k.line.Now()-began > watchMax {
			wait = watchMin // it worked for a while
		}
		k.logs(func(l *slog.Logger) { l.Warn("hints interrupted; polling meanwhile", "error", err, "retryIn", wait) })
		t := k.clock.NewTimer(k.spread(wait))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C():
		}
		wait = min(2*wait, watchMax)
	}
}

// watchOnce calls a store's Watch, whose panic must not end the process.
func watchOnce(ctx context.Context, w Watcher, f func(Change)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.Unavailable("Watch", fmt.Errorf("store panicked: %v", r))
		}
	}()
	return w.Watch(ctx, f)
}

// hintPause is the least time between two tries for one key that hints bring about, so that a
// store whose hints echo our own calls costs some hundred tries a second, not all of the machine.
const hintPause = 2 * time.Millisecond

// hinted brings the next try forward, unless there is one only to find what was carried out late.
func (e *entry) hinted(now time.Duration) {
	if !e.contending && !e.unsettled {
		return
	}
	e.nextTry = min(e.nextTry, max(now, e.notBefore, e.lastTry+hintPause))
}

// Hint makes the next look at what changed come early. Run calls it for the hints of a store
// that is a Watcher; whoever hears of changes in another way may call it too. It never blocks.
func (k *Keeper) Hint(c Change) {
	k.mu.Lock()
	now := k.line.Now()
	switch {
	case c.Kind == ChangeReleased && c.Key != "":
		switch e := k.entries[c.Key]; {
		case e == nil:
		case e.asking:
			e.missed = true
			e.released(now)
		case e.wants():
			e.released(now)
			e.hinted(now)
			k.reschedule(e)
		}
	case c.Kind == ChangeReleased, c.Kind == ChangeResync:
		for _, e := range k.asked {
			e.missed = true
		}
		for _, e := range k.queue {
			e.hinted(now)
		}
		heap.Init(&k.queue)
	}
	if c.Kind == ChangeRevoked || c.Kind == ChangeResync {
		if e := k.entries[c.Key]; e != nil && e.hold != nil && e.hold.over.Load() == nil {
			k.suspect[e.hold] = struct{}{}
			k.lanes[laneVerify].at = min(k.lanes[laneVerify].at, now)
		}
	}
	k.mu.Unlock()
	k.poke()
	if k.hint != nil {
		k.hint(c)
	}
}
