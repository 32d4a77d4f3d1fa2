package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
)

// fleet is what the coordinator's events tell. Guarded by the observer's mutex.
type fleet struct {
	beaten          bool // a heartbeat was answered
	members, active int
	planned         bool
	plan            assigner.Plan
	reigns, holding bool // this instance plans for the fleet; and places nothing
	coming          map[string]*arrival
	ours            map[string]struct{} // taken on, and not ended
}

// arrival is a workload that comes to this instance, as far as a plan that was made here or a wait for its owner tells.
type arrival struct {
	cause  string // why it comes
	at     time.Time
	waited time.Duration
	tried  bool // waited is known
	used   bool // its first term here began
}

// stale is after how long an arrival is forgotten when this instance is given other targets: what was waited for and
// is not to come any more ends without an event.
const stale = 10 * time.Minute

// arrives returns why a key that is granted now came here, and for how long it was waited for before it was tried.
func (f *fleet) arrives(key string) (cause string, waited time.Duration) {
	a := f.coming[key]
	if a == nil || a.used {
		return other, 0
	}
	a.used = true
	return a.cause, a.waited
}

// ObserveBeat implements coordinator.BeatObserver.
func (o *Observer) ObserveBeat(e coordinator.BeatEvent) {
	o.mu.Lock()
	f := &o.fleet
	f.beaten = f.beaten || e.Err == nil
	f.members, f.active = e.Members, e.Active
	o.mu.Unlock()
	o.call("Heartbeat", e.Took, e.Err)
}

// ObservePlan implements coordinator.PlanObserver.
func (o *Observer) ObservePlan(e coordinator.PlanEvent) {
	if e.Err != nil {
		o.add(plans, "failed")
		return
	}
	o.mu.Lock()
	f := &o.fleet
	before := f.base(e.Plan)
	moves, least := count(before, e.Plan), 0
	if !f.planned || !sameShares(f.plan, e.Plan) {
		least = minimum(before, e.Plan)
	}
	f.expect(e.Instance, before, e.Plan, f.planned)
	f.plan, f.planned = e.Plan, true
	o.mu.Unlock()
	o.add(plans, "done")
	o.record(planDuration, e.Took.Seconds())
	for reason, n := range moves {
		o.addN(planMoves, float64(n), reason)
	}
	if least > 0 {
		o.addN(planMinimum, float64(least))
	}
}

// base is where workloads counted before the plan: by the plan before, or else by what the first one says.
func (f *fleet) base(p assigner.Plan) map[string]instance.ID {
	if f.planned {
		return f.plan.Owners()
	}
	at := p.Owners()
	for _, m := range p.Moves {
		delete(at, m.Key)
		if m.From != "" {
			at[m.Key] = m.From
		}
	}
	return at
}

// count returns how many workloads the plan moves, by reason.
func count(before map[string]instance.ID, p assigner.Plan) map[string]int {
	why := make(map[string]assigner.Reason, len(p.Moves))
	for _, m := range p.Moves {
		why[m.Key] = m.Reason
	}
	moves := map[string]int{}
	for _, t := range p.Targets {
		if from, had := before[t.Key]; had && from != t.Instance {
			moves[reasonOf(why[t.Key], from, p)]++
		}
	}
	return moves
}

// reasonOf is a move's reason; where the plan does not say, it is told by whether the instance before is there.
func reasonOf(said assigner.Reason, from instance.ID, p assigner.Plan) string {
	switch {
	case said != "":
		return string(said)
	case !there(p, from):
		return string(assigner.Orphan)
	}
	return string(assigner.Level)
}

// there reports whether the plan knows the instance.
func there(p assigner.Plan, id instance.ID) bool {
	return slices.ContainsFunc(p.Quotas, func(q assigner.Quota) bool { return q.Instance == id })
}

// sameShares reports whether both plans mean every instance to have as many workloads.
func sameShares(a, b assigner.Plan) bool {
	return slices.EqualFunc(a.Quotas, b.Quotas, func(a, b assigner.Quota) bool { return a.Instance == b.Instance && a.Quota == b.Quota })
}

// minimum is how many of the workloads must change their instance, whatever the assigner does, until no instance has
// more than its share of the plan.
func minimum(before map[string]instance.ID, p assigner.Plan) int {
	have, n := map[instance.ID]int{}, 0
	for _, t := range p.Targets {
		if from, had := before[t.Key]; had {
			have[from]++
			n++
		}
	}
	for _, q := range p.Quotas {
		n -= min(have[q.Instance], q.Quota)
	}
	return n
}

// expect notes what is to arrive at this instance, and why.
func (f *fleet) expect(self instance.ID, before map[string]instance.ID, p assigner.Plan, again bool) {
	now, coming := time.Now(), map[string]*arrival{}
	for _, t := range p.Targets {
		if t.Instance != self {
			continue
		}
		from := before[t.Key]
		switch a := f.coming[t.Key]; {
		case a != nil:
			coming[t.Key] = a
		case from == self && again:
		case from == "" || from == self:
			coming[t.Key] = &arrival{cause: other, at: now}
		case there(p, from):
			coming[t.Key] = &arrival{cause: handover, at: now}
		default:
			coming[t.Key] = &arrival{cause: failover, at: now}
		}
	}
	f.coming = coming
}

// ObservePlanner implements coordinator.PlannerObserver.
func (o *Observer) ObservePlanner(e coordinator.PlannerEvent) {
	o.mu.Lock()
	f := &o.fleet
	switch e.Kind {
	case coordinator.PlannerElected:
		f.reigns, f.holding = true, false
	case coordinator.PlannerResigned, coordinator.PlannerSuperseded:
		f.reigns, f.planned, f.plan = false, false, assigner.Plan{} // what was planned here grows old
	case coordinator.PlannerHolding, coordinator.PlannerPlacing:
		f.holding = e.Kind == coordinator.PlannerHolding
	case coordinator.PlannerObeyed:
		maps.DeleteFunc(f.coming, func(_ string, a *arrival) bool { return time.Since(a.at) > stale })
	}
	o.mu.Unlock()
	o.add(decisions, string(e.Kind))
}

// ObserveAssignment implements coordinator.AssignmentObserver.
func (o *Observer) ObserveAssignment(e coordinator.Event) {
	o.mu.Lock()
	f := &o.fleet
	cause, waited := "", time.Duration(0)
	switch a := f.coming[e.Key]; e.Kind {
	case coordinator.EventPending:
		if a == nil {
			f.coming[e.Key] = &arrival{cause: handover, at: e.At} // its owner lives, and is waited for
		}
	case coordinator.EventAssigned:
		f.ours[e.Key] = struct{}{}
		if a != nil && !a.tried {
			a.tried, a.waited = true, max(e.At.Sub(a.at), 0)
			cause, waited = a.cause, a.waited
		}
	case coordinator.EventReaped:
		delete(f.ours, e.Key)
		delete(f.coming, e.Key)
	}
	o.mu.Unlock()
	o.phase(cause, "wait", waited)
}
