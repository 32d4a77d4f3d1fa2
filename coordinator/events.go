package coordinator

import (
	"context"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/instance"
)

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	EventStarted   EventKind = "started"   // Run began
	EventStopping  EventKind = "stopping"  // Run was told to stop
	EventStopped   EventKind = "stopped"   // Run ended
	EventDraining  EventKind = "draining"  // this instance began to drain
	EventMembers   EventKind = "members"   // the active members changed
	EventFailing   EventKind = "failing"   // heartbeats began to fail: nothing new is taken
	EventRecovered EventKind = "recovered" // heartbeats work again
	EventAssigned  EventKind = "assigned"  // a workload was taken on; it starts once its lease is granted
	EventRemoved   EventKind = "removed"   // a workload is wound down
	EventReaped    EventKind = "reaped"    // a removed workload has ended here
	EventPending   EventKind = "pending"   // a workload is to run here but must wait
	EventPlanner   EventKind = "planner"   // the fleet's planner decided something here, or a set of targets is obeyed
)

// Event is one line of a coordinator's recent history.
type Event struct {
	// At is this machine's clock, for people.
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	// Instance is the coordinator's own.
	Instance instance.ID `json:"instance"`
	// Key is the workload, where the event is about one.
	Key string `json:"key,omitempty"`
	// Why is for people.
	Why string `json:"why,omitempty"`
}

// mostEvents is how many events a Snapshot shows at most.
const mostEvents = 256

// ring keeps the newest events.
type ring struct {
	events []Event
	next   int
}

func (r *ring) add(e Event) {
	if len(r.events) < mostEvents {
		r.events = append(r.events, e)
		return
	}
	r.events[r.next] = e
	r.next = (r.next + 1) % mostEvents
}

// list returns the events, oldest first, in memory of its own.
func (r *ring) list() []Event {
	out := make([]Event, 0, len(r.events))
	out = append(out, r.events[r.next:]...)
	return append(out, r.events[:r.next]...)
}

// note keeps, logs and reports an event.
func (e *engine) note(kind EventKind, key, why string) {
	ev := Event{At: e.clock.Now(), Kind: kind, Instance: e.self.ID, Key: key, Why: why}
	e.mu.Lock()
	e.ring.add(ev)
	e.mu.Unlock()
	e.logs(func(l *slog.Logger) {
		level := slog.LevelInfo
		if kind == EventFailing {
			level = slog.LevelWarn
		}
		args := []any{"instance", string(ev.Instance)}
		if key != "" {
			args = append(args, "key", key)
		}
		if why != "" {
			args = append(args, "why", why)
		}
		l.Log(context.Background(), level, "coordinator "+string(kind), args...)
	})
	if key != "" && len(e.observe.assignment) > 0 {
		e.events.Post(func() {
			for _, o := range e.observe.assignment {
				o.ObserveAssignment(ev)
			}
		})
	}
}
