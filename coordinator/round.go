package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/lease"
)

// Looks of the planner at the fleet while nothing changes.
const (
	// quietLooks is after how many heartbeat intervals the planner looks whether anything has lost its owner unnoticed.
	quietLooks = 16
	// mostInspected is how many sets the planner reads back in one look.
	mostInspected = 8
)

// round makes a plan and has the store carry it.
func (p *planner) round(ctx context.Context, f facts, now time.Duration) error {
	p.agenda.begin()
	p.last = now
	// Whether this is the planner still, and whether the store has begun anew: a membership or a list of
	// leases that was lost must not be taken for instances that have gone.
	if err := p.term.Check(ctx); err != nil {
		return err
	}
	state := p.e.set.LeaseState()
	if f.incarnation = state.Incarnation; state.FrozenFor > 0 {
		p.agenda.by(now + state.FrozenFor)
		return nil
	}
	owners, err := p.e.owners(ctx, &p.gate, p.ledger.aim)
	if err != nil {
		return err
	}
	p.moves.arrived(owners, p.ledger.aim)
	if err := p.inspect(ctx, now); err != nil {
		return err
	}
	in := p.input(f, owners, now)
	began := p.e.line.Now()
	plan, err := p.compute(ctx, in)
	if err != nil {
		return err
	}
	p.moves.restrain(&plan, in.Workloads, p.cfg.MovesIn, p.cfg.MovesOut)
	p.decide(plan, in, now)
	p.e.emitPlan(PlanEvent{
		Instance: p.e.self.ID, Plan: plan, Took: p.e.line.Now() - began, Mine: len(plan.For(p.e.self.ID)), Settled: f.calm,
	})
	p.schedule(in, owners, now)
	p.e.showReign(reigning{here: true, in: true, input: in, plan: plan, took: p.e.line.Now() - began, settled: f.calm, moving: len(p.moves.healthy)})
	return p.write(ctx, f, plan, now)
}

// input is everything that the plan depends on.
func (p *planner) input(f facts, owners map[string]instance.ID, now time.Duration) assigner.Input {
	in := assigner.Input{
		Workloads: f.catalogue.workloads, Instances: instancesOf(f.members), Owners: owners,
		InFlight: p.ledger.inFlight(owners), Policy: p.e.policy,
	}
	in.Policy.CoolDown = append(slices.Clone(in.Policy.CoolDown), p.moves.cooling(now, p.cfg.CoolDown)...)
	left := budget(p.e.policy, len(in.Workloads)) - len(p.moves.healthy)
	in.Policy.Budget = max(left, 0)
	freeze := ""
	switch {
	case !f.calm:
		freeze = notSettled
	case left <= 0:
		freeze = "as many moves of healthy workloads are under way as the budget allows"
	}
	if in.Policy.Freeze == "" {
		in.Policy.Freeze = freeze
	}
	if in.Policy.Hold == "" {
		in.Policy.Hold = p.holds(f, in, now)
	}
	return in
}

// notSettled is why nothing is levelled while the fleet is changing.
const notSettled = "the fleet has not settled"

// owners reads who holds what: from the leases where they can be listed, and otherwise what was
// planned last. What runs here is known better here: a store that lost its data, and lets its holders
// prove what they hold, lists nothing for a while.
func (e *engine) owners(ctx context.Context, gate *call.Gate, planned map[string]instance.ID) (map[string]instance.ID, error) {
	if e.mode.lister == nil {
		return maps.Clone(planned), nil
	}
	held, err := call.Do(ctx, gate, "Leases", e.timing.CallTimeout, e.mode.lister.Leases)
	if err != nil {
		return nil, err
	}
	owners := make(map[string]instance.ID, len(held))
	for _, l := range held {
		if !strings.HasPrefix(l.Key, lease.ReservedPrefix) {
			owners[l.Key] = l.Owner
		}
	}
	for _, key := range e.terms.unlisted(owners) {
		owners[key] = e.self.ID
	}
	return owners, nil
}

// compute asks the assigner, which may be the user's and hang: the planner then stays until its term ends.
func (p *planner) compute(ctx context.Context, in assigner.Input) (assigner.Plan, error) {
	type answer struct {
		plan assigner.Plan
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		plan, err := shielded(func() (assigner.Plan, error) { return p.e.mode.assigner.Plan(in) })
		done <- answer{plan, err}
	}()
	select {
	case a := <-done:
		if a.err == nil {
			a.err = p.e.whole(a.plan, in)
		}
		return a.plan, a.err
	case <-ctx.Done():
		return assigner.Plan{}, context.Cause(ctx)
	case <-p.term.Draining():
		return assigner.Plan{}, errors.New("tenure: the planner was told to stop before the assigner answered")
	}
}

// whole refuses a plan that does not speak of every workload.
func (e *engine) whole(plan assigner.Plan, in assigner.Input) error {
	if len(plan.Targets)+len(plan.Unplaceable) == len(in.Workloads) {
		return nil
	}
	return fmt.Errorf("tenure: the plan of %T is not whole: it speaks of %d workloads, the catalogue has %d",
		e.mode.assigner, len(plan.Targets)+len(plan.Unplaceable), len(in.Workloads))
}

// decide takes a plan for the fleet's, and tells why.
func (p *planner) decide(plan assigner.Plan, in assigner.Input, now time.Duration) {
	p.moves.note(now, plan, p.ledger.aim)
	p.ledger.decide(plan)
	p.plan = plan
	if in.Policy.Hold != "" {
		p.tell(PlannerHolding, in.Policy.Hold)
	} else if p.said[PlannerHolding] != "" {
		p.said[PlannerHolding] = ""
		p.tell(PlannerPlacing, "the wait is over")
		delete(p.said, PlannerPlacing)
	}
	if plan.Frozen != "" && plan.Frozen != in.Policy.Hold {
		p.tell(PlannerFrozen, plan.Frozen)
	} else if plan.Frozen == "" && p.said[PlannerFrozen] != "" {
		p.said[PlannerFrozen] = ""
		p.tell(PlannerLevelling, "healthy workloads may move")
		delete(p.said, PlannerLevelling)
	}
	if plan.Deferred > 0 {
		p.tell(PlannerDeferring, fmt.Sprintf("%d healthy workloads stay for now: budget, caps on one instance's moves, or their cool-down", plan.Deferred))
	} else {
		delete(p.said, PlannerDeferring)
	}
}

// inspect reads back the sets of instances that have not done what they were told for a while. What
// the store has lost, or never got, is written again.
func (p *planner) inspect(ctx context.Context, now time.Duration) error {
	looked := 0
	for _, id := range slices.Sorted(maps.Keys(p.ledger.late)) {
		was, known := p.ledger.sets[id]
		if !known || was.doubtful || now-p.ledger.late[id] < p.e.timing.HeartbeatInterval/2 {
			continue
		}
		if looked++; looked > mostInspected {
			return nil
		}
		p.ledger.late[id] = now
		type found struct {
			head assigner.Head
			set  assigner.Set
		}
		is, err := ask1(ctx, p, "TargetsOf", func(ctx context.Context) (f found, err error) {
			f.head, f.set, err = p.e.mode.targets.TargetsOf(ctx, id)
			return f, err
		})
		switch {
		case err != nil:
			return err
		case is.head.Newer(assigner.Head{Token: p.term.Token(), Epoch: p.ledger.epoch}):
			return assigner.ErrSuperseded
		case is.head.Token < p.term.Token():
			p.ledger.doubtAll()
			p.tell(PlannerRewriting, "the store has lost the targets")
		case !is.set.Found || !slices.Equal(is.set.Keys, was.keys):
			p.ledger.doubt(id)
			p.tell(PlannerRewriting, fmt.Sprintf("the store has lost the set of %s", id))
		}
	}
	return nil
}

// schedule says when to look again although nothing is hinted at.
func (p *planner) schedule(in assigner.Input, owners map[string]instance.ID, now time.Duration) {
	interval := p.e.timing.HeartbeatInterval
	behind := p.ledger.behind(now, owners)
	switch {
	case len(p.plan.Moves) > 0:
		p.pace = interval
	case behind || len(p.moves.healthy) > 0 || p.plan.Deferred > 0:
		p.pace = min(max(2*p.pace, interval), max(p.e.timing.LeaseTTL, interval))
	default:
		p.pace = quietLooks * interval
	}
	p.agenda.by(now + p.e.spread(p.pace))
}
