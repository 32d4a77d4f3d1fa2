package tenuretest

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/runner"
)

// Settled lets virtual time pass until the fleet has settled: nobody is a member who cannot beat, be it
// killed, paused or parted from the registry; all the others know that; and every workload that can be
// placed runs on the instance that the plan names (the planner's, or that of each), or has finished there, with
// no move put off. An instance with other faults is not asked for its view, and counts with what it runs.
// After the fleet's Patience the test fails and says what is missing.
func (f *Fleet[W]) Settled() {
	f.t.Helper()
	step := f.timing.HeartbeatInterval / 10
	for begin := time.Now(); ; <-time.After(step) {
		synctest.Wait()
		why := f.unsettled()
		if why == "" {
			return
		}
		if time.Since(begin) >= f.cfg.Patience {
			f.t.Fatalf("the fleet has not settled within %v: %s\n%s", f.cfg.Patience, why, f.witness.history())
		}
	}
}

// unsettled says what is missing; empty: nothing.
func (f *Fleet[W]) unsettled() string {
	view, err := f.memory.Members(f.t.Context())
	if err != nil {
		return err.Error()
	}
	for _, m := range view.Members {
		if n := f.find(m.ID); n == nil || !n.is(running) || n.faults.blocked(AllRegistryOps, OpHeartbeat) {
			return fmt.Sprintf("%s cannot beat, but is a member for another %v", m.ID, m.TTLLeft)
		}
	}
	asked := 0
	for _, m := range f.all() {
		if !m.is(running) || m.faults.blocked("", "") {
			continue
		}
		asked++
		if _, joined := view.Find(m.id); !joined {
			return fmt.Sprintf("%s is no member", m.id)
		}
		if why := f.unsettledOn(m, view); why != "" {
			return why
		}
	}
	if asked == 0 {
		return "no instance runs whose store answers"
	}
	return f.unplanned(view)
}

// unplanned says what is missing of the planner's plan, where one instance plans for all.
func (f *Fleet[W]) unplanned(view registry.View) string {
	var planner instance.ID
	var newest coordinator.Snapshot
	for _, m := range f.all() {
		if !m.is(running) {
			continue
		}
		switch s := m.Snapshot(); {
		case s.Planning.Mode != coordinator.PlanningPlanner:
			return ""
		case s.Planning.Here && (planner == "" || s.Planning.Token > newest.Planning.Token):
			planner, newest = m.id, s
		}
	}
	if planner == "" {
		return "nobody plans"
	}
	p := newest.Plan.Plan
	active := map[instance.ID]bool{}
	for _, m := range view.Active() {
		active[m.ID] = true
		if !slices.ContainsFunc(p.Quotas, func(q assigner.Quota) bool { return q.Instance == m.ID }) {
			return fmt.Sprintf("%s has not planned with %s", planner, m.ID)
		}
	}
	for _, t := range p.Targets {
		if !active[t.Instance] {
			return fmt.Sprintf("%s has not planned without %s", planner, t.Instance)
		}
	}
	if p.Deferred > 0 {
		return fmt.Sprintf("%s has put off %d moves, as its budget and cool-down say", planner, p.Deferred)
	}
	return f.unsettledPlan(planner, newest)
}

// unsettledOn says what is missing in the eyes of one instance.
func (f *Fleet[W]) unsettledOn(m *member[W], view registry.View) string {
	s := m.Snapshot()
	if !slices.Equal(ids(s.Members), ids(view.Members)) {
		return fmt.Sprintf("%s knows the members %v, and they are %v", m.id, ids(s.Members), ids(view.Members))
	}
	for _, w := range s.Workloads {
		if why := pending(w); why != "" {
			return fmt.Sprintf("on %s, %s", m.id, why)
		}
	}
	switch p := s.Planning; {
	case p.Mode != coordinator.PlanningPlanner:
		return f.unsettledPlan(m.id, s)
	case !p.Known && !s.Draining:
		return fmt.Sprintf("%s has not been told what to run", m.id)
	}
	return "" // the planner's plan is looked at once for all
}

// unsettledPlan says what is missing of a plan of the whole catalogue.
func (f *Fleet[W]) unsettledPlan(id instance.ID, s coordinator.Snapshot) string {
	p := s.Plan
	switch {
	case p.Err != nil:
		return fmt.Sprintf("%s has no plan: %v", id, p.Err)
	case len(p.Plan.Targets)+len(p.Plan.Unplaceable) != len(f.workloads()):
		return fmt.Sprintf("%s has not planned the whole catalogue", id)
	case !p.Settled:
		return fmt.Sprintf("%s waits for the fleet to be quiet", id)
	}
	for _, t := range p.Plan.Targets {
		owner := f.witness.owner(t.Key)
		if owner != t.Instance && !f.finished(t.Key, t.Instance) {
			return fmt.Sprintf("%s plans %q for %s, and %s", id, t.Key, t.Instance, whoRuns(owner))
		}
		if o := f.find(owner); o != nil && o.faults.blocked(AllLeaseOps, OpRenew) {
			return fmt.Sprintf("%s runs %q, but cannot renew its lease", owner, t.Key)
		}
	}
	return ""
}

// pending says what a workload of an instance waits for; empty: it runs, or has finished.
func pending(w coordinator.WorkloadInfo) string {
	switch r := w.Runner; {
	case w.Phase != coordinator.Assigned, w.Why != "":
		return strings.TrimRight(fmt.Sprintf("%q is %s: %s", w.Key, w.Phase, w.Why), ": ")
	case r.State == runner.Active, r.State == runner.Stopped:
		return ""
	case r.LastErr != nil:
		return fmt.Sprintf("the work of %q is %s after it failed with %q", w.Key, r.State, r.LastErr)
	case r.Holder != "":
		return fmt.Sprintf("the work of %q is %s: the key was last held by %s", w.Key, r.State, r.Holder)
	default:
		return fmt.Sprintf("the work of %q is %s", w.Key, r.State)
	}
}

// finished reports whether the work of a key is done on an instance and is not run again there.
func (f *Fleet[W]) finished(key string, on instance.ID) bool {
	m := f.find(on)
	if m == nil {
		return false
	}
	return slices.ContainsFunc(m.Snapshot().Workloads, func(w coordinator.WorkloadInfo) bool {
		return w.Key == key && w.Runner.State == runner.Stopped
	})
}

func ids(members []registry.Member) []instance.ID {
	out := make([]instance.ID, len(members))
	for i, m := range members {
		out[i] = m.ID
	}
	return out
}

func whoRuns(owner instance.ID) string {
	if owner == "" {
		return "nobody runs it"
	}
	return fmt.Sprintf("%s runs it", owner)
}

// blocked reports whether a fault is in force that keeps calls of a method from being done, or, of no
// method, whether any is that keeps any answer from coming.
func (f *Faults) blocked(contract, op Op) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.active, func(i *Injected) bool {
		switch i.fault.Kind {
		case Late, LateAnswer:
			return false
		case HalfDone:
			return op == "" && !i.spent()
		}
		return !i.spent() && (op == "" || i.fault.hits(contract, op))
	})
}
