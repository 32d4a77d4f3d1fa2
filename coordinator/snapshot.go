package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/runner"
)

// Snapshot is what a coordinator knew at one moment. It shares no memory with the coordinator.
type Snapshot struct {
	// Instance is the coordinator's own; At is this machine's clock.
	Instance instance.Instance
	At       time.Time
	// Running: Run was called and has not returned. Leaving: it was told to stop.
	Running, Leaving, Draining bool
	// Timing and Settle are the resolved knobs.
	Timing lease.Timing
	Settle time.Duration
	// Members is the fleet as last answered, at MembersAt; their TTLLeft is as of then.
	Members   []registry.Member
	MembersAt time.Time
	Beat      BeatInfo
	Plan      PlanInfo
	Planning  PlanningInfo
	// Catalogue is what there is to run, ordered by key; Names has the names of those that have one.
	Catalogue []assigner.Workload
	Names     map[string]string
	// Workloads is what this instance runs, is about to run or winds down, ordered by key.
	Workloads []WorkloadInfo
	// Lease is the session that everything held here hangs off.
	Lease lease.State
	// Events is the recent history, oldest first, at most 256.
	Events []Event
}

// BeatInfo tells how the heartbeat is doing.
type BeatInfo struct {
	// LastOK is when a heartbeat was last answered; zero before the first. Took is how long the last one took.
	LastOK time.Time
	Took   time.Duration
	// Failures counts failed heartbeats in a row; LastErr is the newest error of all, at LastErrAt.
	Failures  int
	LastErr   error
	LastErrAt time.Time
}

// PlanInfo is the plan in force.
type PlanInfo struct {
	// Assigner is the type of the assigner.
	Assigner string
	// Plan is empty before the first. Where the assigner does not heed owners, its moves are the
	// differences from the plan before. With a planner, the planner's own snapshot shows the whole plan,
	// and those of the others what it gives to them.
	Plan assigner.Plan
	// At is when it was made, Took how long that took.
	At   time.Time
	Took time.Duration
	// Err says why the newest attempt made no plan; nil where it did.
	Err error
	// Settled reports whether healthy workloads moved with it.
	Settled bool
}

// WorkloadInfo is one workload on this instance.
type WorkloadInfo struct {
	Key, Name string
	Phase     Phase
	// Why says why it waits, is removed, or still runs although it was moved; empty otherwise.
	Why string
	// Runner is what the runner says of it; its State is empty where there is no runner yet, or any more.
	Runner runner.Info
}

// shown is the part of a snapshot that the loop publishes. Guarded by the engine's mutex; what it
// refers to never changes.
type shown struct {
	members   []registry.Member
	membersAt time.Time
	beat      BeatInfo
	plan      PlanInfo
	calm      bool
	told      toldInfo
	reign     reigning
}

// showBeat publishes the outcome of a heartbeat.
func (l *loop) showBeat(took time.Duration, err error) {
	e, now := l.e, l.e.clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &e.shown
	s.beat.Took, s.beat.Failures = took, l.beat.failures
	if err != nil {
		s.beat.LastErr, s.beat.LastErrAt = err, now
		return
	}
	s.beat.LastOK, s.membersAt, s.members = now, now, l.beat.members
}

// showPlan publishes the plan in force.
func (l *loop) showPlan(took time.Duration) {
	e, now := l.e, l.e.clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &e.shown.plan
	p.Err = l.plan.err
	if p.Err == nil {
		p.Plan, p.At, p.Took, p.Settled = l.plan.plan, now, took, l.plan.basis.calm
	}
}

func (e *engine) snapshot() Snapshot {
	runs, state := e.set.Snapshot(), e.set.LeaseState()
	e.mu.Lock()
	shown, cat := e.shown, e.catalogue
	s := Snapshot{
		Instance: e.self.Clone(), At: e.clock.Now(), Running: e.running, Leaving: e.leaving && e.running, Draining: e.draining,
		Timing: e.timing, Settle: e.window, MembersAt: shown.membersAt, Beat: shown.beat, Plan: e.planInfo(), Planning: e.planningInfo(),
		Lease: state, Events: e.ring.list(),
	}
	e.mu.Unlock()
	s.Members = slices.Clone(shown.members)
	for i := range s.Members {
		s.Members[i].Instance = s.Members[i].Instance.Clone()
	}
	s.Plan.Assigner = fmt.Sprintf("%T", e.mode.assigner)
	s.Plan.Plan = clonePlan(s.Plan.Plan)
	s.Catalogue = slices.Clone(cat.workloads)
	s.Names = map[string]string{}
	for at, name := range cat.names {
		if name != "" {
			s.Names[cat.workloads[at].Key] = name
		}
	}
	s.Workloads = e.workloads(runs, s.Names)
	return s
}

// workloads joins what the loop knows with what the runners know.
func (e *engine) workloads(runs []runner.Info, names map[string]string) []WorkloadInfo {
	all := make(map[string]WorkloadInfo, len(runs))
	for _, r := range runs {
		if r.Key == plannerKey {
			continue
		}
		all[r.Key] = WorkloadInfo{Key: r.Key, Name: r.Name, Phase: Assigned, Runner: r}
	}
	e.jobs.mu.Lock()
	for key, j := range e.jobs.all {
		w := all[key]
		w.Key, w.Phase, w.Why = key, j.phase, j.why
		if w.Name == "" {
			w.Name = names[key]
		}
		all[key] = w
	}
	e.jobs.mu.Unlock()
	out := make([]WorkloadInfo, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out
}

func clonePlan(p assigner.Plan) assigner.Plan {
	p.Targets, p.Moves = slices.Clone(p.Targets), slices.Clone(p.Moves)
	p.Quotas, p.Unplaceable = slices.Clone(p.Quotas), slices.Clone(p.Unplaceable)
	return p
}
