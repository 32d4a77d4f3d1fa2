package runner

import (
	"context"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// Observers are called in order from a goroutine of Run that no deadline depends on: a slow one
// delays nobody, and loses its oldest events when thousands wait. The events of one workload come
// in the order in which they happened.

// StateObserver hears of every change of state.
type StateObserver interface{ ObserveState(StateEvent) }

// StateEvent is one change of state. The events of a workload form a chain from "" to Stopped.
type StateEvent struct {
	Key, Name string
	// From is empty for the first event of a workload.
	From, To State
	// Token of the term that the change belongs to; 0 where it belongs to none.
	Token uint64
	// In is how long the workload was in From.
	In time.Duration
	At time.Time
}

// WorkObserver hears of the end of every term in which work was started.
type WorkObserver interface{ ObserveWork(WorkEvent) }

// WorkEvent is a term that has ended: the work has returned and the key was let go.
type WorkEvent struct {
	Key, Name string
	Token     uint64
	End       End
	// Reason is why the lease was lost; set for EndLost.
	Reason lease.Reason
	// Err is the work's failure; nil for none. An error that only repeats the cause of the cancelled
	// context is none. A panic is a *PanicError.
	Err error
	// Forced means that the work was still running at the drain timeout and was cancelled.
	Forced bool
	// Started is when the work began, Ran how long it ran.
	Started time.Time
	Ran     time.Duration
	// WindDown is the time from the first sign of the end (the drain's begin, the loss, the work's
	// return) until the key was let go. LetGo is its last part: from the work's return on.
	WindDown, LetGo time.Duration
}

// StuckObserver hears of workers that ignore their cancellation.
type StuckObserver interface{ ObserveStuck(StuckEvent) }

// StuckEvent says that a worker has become stuck, or has returned after all.
type StuckEvent struct {
	Key, Name string
	Token     uint64
	// Returned is false when the worker became stuck, true when it returned after all.
	Returned bool
	At       time.Time
}

// StatusObserver hears of every write to the status store.
type StatusObserver interface{ ObserveStatus(StatusEvent) }

// StatusEvent is one PutStatus.
type StatusEvent struct {
	// Records is the size of the batch; 0 only extends.
	Records int
	// Err is nil for success.
	Err  error
	Took time.Duration
}

type observers struct {
	state  []StateObserver
	work   []WorkObserver
	stuck  []StuckObserver
	status []StatusObserver
}

func splitObservers(all []any) observers {
	var o observers
	for _, x := range all {
		if v, ok := x.(StateObserver); ok {
			o.state = append(o.state, v)
		}
		if v, ok := x.(WorkObserver); ok {
			o.work = append(o.work, v)
		}
		if v, ok := x.(StuckObserver); ok {
			o.stuck = append(o.stuck, v)
		}
		if v, ok := x.(StatusObserver); ok {
			o.status = append(o.status, v)
		}
	}
	return o
}

// tell posts an event to the observers of its kind.
func tell[O, E any](s *Set, all []O, method func(O, E), e E) {
	for _, o := range all {
		e := e                                 // what is captured lives on the heap: only where somebody listens
		s.events.Post(func() { method(o, e) }) // each on its own: the panic of one is not the next one's
	}
}

// logs posts a log line; handlers are the user's and may block.
func (s *Set) logs(level slog.Level, msg string, attrs ...slog.Attr) {
	if l := s.cfg.Logger; l != nil {
		s.events.Post(func() { l.LogAttrs(context.Background(), level, msg, attrs...) })
	}
}
