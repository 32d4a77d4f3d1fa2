package coordinator

import (
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// BeatObserver hears of every heartbeat. Observers are called in order, from a goroutine of Run that
// nothing waits for: a slow one delays nobody, and loses its oldest events when thousands wait.
type BeatObserver interface{ ObserveBeat(BeatEvent) }

// BeatEvent is one heartbeat.
type BeatEvent struct {
	Instance instance.ID
	// Err is nil for success; otherwise it matches one of package registry's errors.
	Err error
	// Took is the duration of the call.
	Took time.Duration
	// Members and Active count the fleet as this instance knows it after the answer.
	Members, Active int
}

// PlanObserver hears of every plan that was made.
type PlanObserver interface{ ObservePlan(PlanEvent) }

// PlanEvent is one plan.
type PlanEvent struct {
	Instance instance.ID
	// Plan is shared: do not change it. It is empty where Err is set.
	Plan assigner.Plan
	// Err says why no plan could be made; the one before stays in force.
	Err error
	// Took is the duration of the planning, reading of the owners included.
	Took time.Duration
	// Mine is how many workloads the plan gives to this instance.
	Mine int
	// Settled reports whether healthy workloads may move.
	Settled bool
}

// PlannerObserver hears what the fleet's planner decides, on the instance that plans, and of every set of
// targets that this instance obeys.
type PlannerObserver interface{ ObservePlanner(PlannerEvent) }

// PlannerEvent is one decision.
type PlannerEvent struct {
	Kind PlannerEventKind
	// Instance is the observer's own.
	Instance instance.ID
	// Token and Epoch are those of the plan: the planner's fencing token and the number of its plan.
	Token, Epoch uint64
	// Why is for people.
	Why string
}

// PlannerEventKind says what was decided.
type PlannerEventKind string

// The kinds. A decision that is made again for the same reason is told once.
const (
	PlannerElected    PlannerEventKind = "elected"    // this instance plans from now on
	PlannerResigned   PlannerEventKind = "resigned"   // it plans no more
	PlannerSuperseded PlannerEventKind = "superseded" // another planner has written: this one stops
	PlannerWrote      PlannerEventKind = "wrote"      // a plan was written
	PlannerHolding    PlannerEventKind = "holding"    // nothing is placed: a mass loss or a cold start
	PlannerPlacing    PlannerEventKind = "placing"    // that is over
	PlannerFrozen     PlannerEventKind = "frozen"     // healthy workloads stay where they are
	PlannerLevelling  PlannerEventKind = "levelling"  // that is over
	PlannerDeferring  PlannerEventKind = "deferring"  // some moves wait for a budget, a cap or a cool-down
	PlannerRewriting  PlannerEventKind = "rewriting"  // the store has lost targets: they are written again
	PlannerObeyed     PlannerEventKind = "obeyed"     // this instance was given another set
)

// AssignmentObserver hears what this instance takes and drops.
type AssignmentObserver interface{ ObserveAssignment(Event) }

type observers struct {
	beat       []BeatObserver
	plan       []PlanObserver
	planner    []PlannerObserver
	assignment []AssignmentObserver
}

func splitObservers(all []any) observers {
	var o observers
	for _, x := range all {
		if v, ok := x.(BeatObserver); ok {
			o.beat = append(o.beat, v)
		}
		if v, ok := x.(PlanObserver); ok {
			o.plan = append(o.plan, v)
		}
		if v, ok := x.(PlannerObserver); ok {
			o.planner = append(o.planner, v)
		}
		if v, ok := x.(AssignmentObserver); ok {
			o.assignment = append(o.assignment, v)
		}
	}
	return o
}

func (e *engine) emitBeat(b BeatEvent) {
	if len(e.observe.beat) > 0 {
		e.events.Post(func() {
			for _, o := range e.observe.beat {
				o.ObserveBeat(b)
			}
		})
	}
}

func (e *engine) emitPlan(p PlanEvent) {
	if len(e.observe.plan) > 0 {
		p := p // what is captured lives on the heap: only where somebody listens
		e.events.Post(func() {
			for _, o := range e.observe.plan {
				o.ObservePlan(p)
			}
		})
	}
}

// noteOnce notes what the planner, or the lack of one, means here, unless that was noted last.
func (e *engine) noteOnce(last *string, why string) {
	if *last != why {
		*last = why
		e.note(EventPlanner, "", why)
	}
}

// decided keeps, logs and reports a decision of the planner, or a set that is obeyed.
func (e *engine) decided(d PlannerEvent) {
	e.note(EventPlanner, "", string(d.Kind)+": "+d.Why)
	if len(e.observe.planner) > 0 {
		e.events.Post(func() {
			for _, o := range e.observe.planner {
				o.ObservePlanner(d)
			}
		})
	}
}

// logs posts a log line; handlers are the user's and may block.
func (e *engine) logs(f func(*slog.Logger)) {
	if e.log != nil {
		e.events.Post(func() { f(e.log) })
	}
}
