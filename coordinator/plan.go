package coordinator

import (
	"context"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/registry"
)

// planning is the plan in force and what it was made of. The loop owns it.
type planning struct {
	lane  lane
	basis basis
	plan  assigner.Plan
	mine  map[string]struct{}
	// strange is the version of what others plan that the plan in force was made beside.
	strange uint64
	// again is when a plan that depends on owners is made again although nothing else changed, until
	// everything is where it belongs; 0 when it is. wait is the present distance.
	again, wait time.Duration
	listed      time.Duration // when the owners were last asked for
	err         error
}

// basis is all that a plan of ours depends on, but for the owners.
type basis struct {
	members, catalogue, strange uint64
	calm                        bool
}

// againMost is how many heartbeat intervals a plan whose owners do not come to match it is left alone
// at most: a workload that cannot run anywhere must not make everyone list all leases for ever.
const againMost = 16

// mayPlan reports whether a plan could be made and used now.
func (l *loop) mayPlan() bool {
	return !l.plan.lane.busy && !l.leaving && !l.beat.failing && l.beat.version != 0
}

// planIfDue makes a plan when what it depends on has changed.
func (l *loop) planIfDue(now time.Duration) {
	p := &l.plan
	want := basis{l.beat.version, l.cat.version, l.obey.strange.version, l.calm}
	due := want != p.basis || p.again != 0 && now >= p.again
	if !due || !l.mayPlan() {
		return
	}
	if want != p.basis {
		p.wait = 0
	}
	p.basis, p.again, p.listed = want, 0, now
	in := assigner.Input{Workloads: l.ownWorkloads(), Instances: instancesOf(l.beat.members), Policy: l.e.policy}
	if !l.calm && in.Policy.Freeze == "" {
		in.Policy.Freeze = notSettled
	}
	e, before := l.e, p.plan
	aside(l, &p.lane, func() (planned, error) { return e.makePlan(l.calls, &p.lane.gate, in, before) }, l.planned)
}

// planned is a plan and the owners that it was made of.
type planned struct {
	plan   assigner.Plan
	owners map[string]instance.ID
}

// makePlan runs beside the loop: it asks the store for the owners, where the assigner heeds them,
// and the assigner, which may be the user's, for a plan.
func (e *engine) makePlan(ctx context.Context, gate *call.Gate, in assigner.Input, before assigner.Plan) (planned, error) {
	var err error
	// Where owners are not heeded only what changed since the last plan is a move; the targets do
	// not depend on it.
	if in.Owners, err = e.owners(ctx, gate, before.Owners()); err != nil {
		return planned{}, err
	}
	if e.mode.lister != nil {
		in.InFlight = inFlight(before, in)
		if in.Policy.Budget > 0 && len(in.InFlight) > 0 && in.Policy.Freeze == "" {
			in.Policy.Freeze = "the moves of the last round are under way"
		}
	}
	plan, err := e.mode.assigner.Plan(in)
	if err == nil {
		err = e.whole(plan, in)
	}
	return planned{plan, in.Owners}, err
}

// inFlight is the target of every move of the last plan whose workload is still where it was: it is
// being wound down there. One that has no owner is planned afresh, so that instances which
// disagree about a target come to agree by what all of them read.
func inFlight(before assigner.Plan, in assigner.Input) map[string]instance.ID {
	moving := map[string]instance.ID{}
	for _, m := range before.Moves {
		if owner, held := in.Owners[m.Key]; held && owner == m.From && owner != m.To {
			moving[m.Key] = m.To
		}
	}
	return moving
}

// instancesOf is the membership as an assigner sees it.
func instancesOf(members []registry.Member) []assigner.Instance {
	out := make([]assigner.Instance, len(members))
	for i, m := range members {
		out[i] = assigner.Instance{
			ID: m.ID, JoinedAt: m.JoinedAt, Capacity: m.Capacity, Zone: m.Zone, Version: m.Version, Labels: m.Labels,
		}
		if m.Draining || m.Leaving {
			out[i].Phase = assigner.Draining
		}
	}
	return out
}

// planned takes a new plan into force, or keeps the one before.
func (l *loop) planned(got planned, took time.Duration, err error) {
	p, now := &l.plan, l.e.line.Now()
	p.err = err
	if err != nil {
		// Try again with the pace of heartbeats.
		p.again = now + l.e.spread(l.e.timing.HeartbeatInterval)
		l.e.logs(func(lg *slog.Logger) {
			lg.Warn("no plan could be made; the one before stays in force", "instance", string(l.e.self.ID), "error", err)
		})
	} else {
		p.take(got.plan, l.e.self.ID)
		l.dirty = true
		if l.e.mode.lister != nil && !matches(got.plan, got.owners) {
			p.wait = min(max(2*p.wait, l.e.timing.HeartbeatInterval), againMost*l.e.timing.HeartbeatInterval)
			p.again = now + l.e.spread(p.wait)
		}
	}
	if !l.e.obeys() {
		l.showPlan(took)
	}
	l.e.emitPlan(PlanEvent{Instance: l.e.self.ID, Plan: got.plan, Err: err, Took: took, Mine: len(p.mine), Settled: l.calm})
}

func (p *planning) take(plan assigner.Plan, self instance.ID) {
	if plan.Digest != p.plan.Digest {
		p.wait = 0 // somebody's work has moved: more may be to come
	}
	p.strange = p.basis.strange
	p.plan, p.mine = plan, make(map[string]struct{}, len(p.mine))
	for _, t := range plan.Targets {
		if t.Instance == self {
			p.mine[t.Key] = struct{}{}
		}
	}
}

// planSoon has the plan looked over after a release that was not expected here: an instance which
// saw the fleet at another moment may have let go of what nobody else plans to take. A plan per
// interval is the most that hints can cause.
func (l *loop) planSoon(now time.Duration) {
	p := &l.plan
	l.facts.released++
	if l.e.mode.lister == nil {
		return
	}
	interval := l.e.timing.HeartbeatInterval
	at := max(now+interval/8, p.listed+interval)
	if p.again == 0 || at < p.again {
		p.again = at
	}
}

// matches reports whether every workload is held by the instance that the plan names.
func matches(plan assigner.Plan, owners map[string]instance.ID) bool {
	for _, t := range plan.Targets {
		if owners[t.Key] != t.Instance {
			return false
		}
	}
	return true
}
