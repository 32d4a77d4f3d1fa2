// Package notify carries events from an engine to code that may block.
//
// Observers and log handlers belong to the user. An engine that called them from its
// loop would miss its deadlines whenever they stall, so it posts to a Queue instead,
// which calls them in order from a goroutine of its own.
package notify

import (
	"context"
	"sync"
)

// Most is how many events may wait. Beyond it the oldest are dropped: an observer that
// hangs for ever costs its own events, not the process's memory. It holds what ten thousand
// workloads that start or stop at once have to tell.
const Most = 1 << 16

// Queue is a bounded first-in-first-out of functions. The zero value is ready.
// It is safe for concurrent use; Post never blocks.
type Queue struct {
	mu      sync.Mutex
	waiting []func()
	dropped uint64
	wake    chan struct{}
}

func (q *Queue) signal() chan struct{} {
	if q.wake == nil {
		q.wake = make(chan struct{}, 1)
	}
	return q.wake
}

// Post appends f.
func (q *Queue) Post(f func()) {
	q.mu.Lock()
	if len(q.waiting) >= Most {
		q.waiting = q.waiting[1:]
		q.dropped++
	}
	q.waiting = append(q.waiting, f)
	wake := q.signal()
	q.mu.Unlock()
	select {
	case wake <- struct{}{}:
	default:
	}
}

// Dropped returns how many events were lost to a slow observer.
func (q *Queue) Dropped() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// Run calls what is posted, one at a time, until ctx ends; then it calls what is still waiting and returns.
// A panic of one function is swallowed: it is the user's, and must not end the engine.
func (q *Queue) Run(ctx context.Context) {
	q.mu.Lock()
	wake := q.signal()
	q.mu.Unlock()
	for {
		q.flush()
		select {
		case <-wake:
		case <-ctx.Done():
			q.flush()
			return
		}
	}
}

func (q *Queue) flush() {
	for {
		q.mu.Lock()
		batch := q.waiting
		q.waiting = nil
		q.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, f := range batch {
			safely(f)
		}
	}
}

func safely(f func()) {
	defer func() { _ = recover() }()
	f()
}
