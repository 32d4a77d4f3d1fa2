package coordinator

import (
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// PlanningInfo tells who plans, and what this instance was told.
type PlanningInfo struct {
	// Mode is PlanningPlanner or PlanningEveryone, and Why says how that came.
	Mode Planning
	Why  string
	// Planner wrote the plan that is obeyed; empty where none was seen, or everyone plans. Here
	// reports whether this instance is the fleet's planner now.
	Planner instance.ID
	Here    bool
	// Token, Epoch, Digest, Incarnation and WrittenAt (the store's clock) are those of the plan.
	Token, Epoch uint64
	Digest       assigner.Digest
	Incarnation  uint64
	WrittenAt    time.Time
	// Age is how long ago this instance first saw the plan; negative where it has seen none.
	Age time.Duration
	// Known reports whether this instance's own set is known and counts. Where it does not, the instance
	// keeps what it runs and takes nothing new.
	Known bool
	// Moving is how many moves of healthy workloads are under way. On the planner only.
	Moving int
}

// reigning is what the planner of this instance shows. Zero: it does not plan.
type reigning struct {
	here    bool // it plans
	in      bool // it has planned
	input   assigner.Input
	plan    assigner.Plan
	at      time.Time
	took    time.Duration
	settled bool
	moving  int
}

// showReign publishes what the planner here planned last.
func (e *engine) showReign(r reigning) {
	r.at = e.clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown.reign = r
	e.shown.plan.Err = nil
}

// showCalm publishes whether healthy workloads may move.
func (e *engine) showCalm(calm bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown.calm = calm
}

// showPlanErr publishes why no plan could be made.
func (e *engine) showPlanErr(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown.plan.Err = err
}

// showObeyed publishes what this instance was told.
func (l *loop) showObeyed() {
	o, e := &l.obey, l.e
	own := assigner.Plan{Digest: o.head.Digest}
	for _, key := range o.set.Keys {
		own.Targets = append(own.Targets, assigner.Target{Key: key, Instance: e.self.ID})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown.told = toldInfo{head: o.head, known: l.knows(), planned: o.planned, own: own, at: e.clock.Now()}
}

// toldInfo is what a snapshot says about what is obeyed.
type toldInfo struct {
	head    assigner.Head
	known   bool
	planned time.Duration
	own     assigner.Plan
	at      time.Time
}

// planningInfo joins what is obeyed with what is planned here. The mutex is held.
func (e *engine) planningInfo() PlanningInfo {
	t, r := &e.shown.told, &e.shown.reign
	p := PlanningInfo{Mode: e.mode.planning, Why: e.mode.why, Here: r.here, Age: -1}
	if t.head.Token == 0 {
		return p
	}
	p.Planner, p.Token, p.Epoch, p.Digest = t.head.Planner, t.head.Token, t.head.Epoch, t.head.Digest
	p.Incarnation, p.WrittenAt, p.Known, p.Moving = t.head.Incarnation, t.head.WrittenAt, t.known, r.moving
	p.Age = e.line.Now() - t.planned
	return p
}

// planInfo is the plan as a snapshot shows it. The mutex is held.
func (e *engine) planInfo() PlanInfo {
	p, t, r := e.shown.plan, &e.shown.told, &e.shown.reign
	switch {
	case !e.obeys():
	case r.in:
		p.Plan, p.At, p.Took, p.Settled = r.plan, r.at, r.took, r.settled
	default:
		p.Plan, p.At, p.Settled = t.own, t.at, e.shown.calm
	}
	return p
}
