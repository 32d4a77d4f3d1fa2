package coordinator

import (
	"context"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/internal/call"
)

// Input returns what a plan would be made of now. On the fleet's planner that is what the last plan was made
// of, cool-downs, freezes and holds included, and costs no I/O; elsewhere it is what this instance
// knows of the fleet, with owners and targets as the stores answer them. What it refers to is shared: do
// not change it. Errors are those of the stores.
func (c *Coordinator[W]) Input(ctx context.Context) (assigner.Input, error) { return c.e.input(ctx) }

// Explain says why a workload is where it is, who would be next, and who may not have it. It plans,
// and carries nothing out; see Input for what it looks at. An unknown key is an error that matches
// lease.ErrInvalid.
func (c *Coordinator[W]) Explain(ctx context.Context, key string) (assigner.Explanation, error) {
	in, err := c.e.input(ctx)
	if err != nil {
		return assigner.Explanation{}, err
	}
	return shielded(func() (assigner.Explanation, error) { return assigner.Explain(c.e.mode.assigner, in, key) })
}

// WhatIf plans a change of the fleet without making it; see Input for what it starts from. An unknown
// instance or key is an error that matches lease.ErrInvalid.
func (c *Coordinator[W]) WhatIf(ctx context.Context, change assigner.Change) (assigner.Outlook, error) {
	in, err := c.e.input(ctx)
	if err != nil {
		return assigner.Outlook{}, err
	}
	return shielded(func() (assigner.Outlook, error) { return assigner.WhatIf(c.e.mode.assigner, in, change) })
}

func (e *engine) input(ctx context.Context) (assigner.Input, error) {
	e.mu.Lock()
	reign, members, cat, before := e.shown.reign, e.shown.members, e.catalogue, e.shown.plan.Plan
	e.mu.Unlock()
	if reign.in {
		return reign.input, nil
	}
	in := assigner.Input{Workloads: cat.workloads, Instances: instancesOf(members), Policy: e.policy}
	var gate call.Gate
	var err error
	if in.Owners, err = e.owners(ctx, &gate, before.Owners()); err != nil || !e.obeys() {
		return in, err
	}
	sets, err := call.Do(ctx, &gate, "AllTargets", e.timing.CallTimeout, func(ctx context.Context) ([]assigner.Set, error) {
		_, sets, err := e.mode.targets.AllTargets(ctx)
		return sets, err
	})
	g := newLedger()
	g.read(sets, 0)
	if e.mode.lister == nil {
		in.Owners = g.aim
	}
	in.InFlight = g.inFlight(in.Owners)
	return in, err
}
