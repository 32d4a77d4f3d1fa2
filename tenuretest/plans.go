package tenuretest

import (
	"context"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
)

// plans is an assigner.Targets with faults.
type plans struct {
	faults *Faults
	store  assigner.Targets
}

func (p plans) PutTargets(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
	return act(ctx, p.faults, AllTargetOps, OpPutTargets, func(ctx context.Context) error { return p.store.PutTargets(ctx, head, sets, gone) })
}

// answer is what a read of targets answers beside its error.
type answer[T any] struct {
	head assigner.Head
	what T
}

func (p plans) TargetsOf(ctx context.Context, id instance.ID) (assigner.Head, assigner.Set, error) {
	a, err := through(ctx, p.faults, AllTargetOps, OpTargetsOf, func(ctx context.Context) (a answer[assigner.Set], err error) {
		a.head, a.what, err = p.store.TargetsOf(ctx, id)
		return a, err
	})
	return a.head, a.what, err
}

func (p plans) AllTargets(ctx context.Context) (assigner.Head, []assigner.Set, error) {
	a, err := through(ctx, p.faults, AllTargetOps, OpAllTargets, func(ctx context.Context) (a answer[[]assigner.Set], err error) {
		a.head, a.what, err = p.store.AllTargets(ctx)
		return a, err
	})
	return a.head, a.what, err
}

// planned is a store of all three contracts that carries plans as well.
type planned struct {
	contracts
	plans
}

// wrapPlans is wrapAll for a store that carries plans.
func wrapPlans(a planned, ls lists, ws watches, os operates) coordinator.Store {
	switch capabilities(a.manager.store) {
	case has{lists: true, watches: true, operates: true, plans: true}:
		return struct {
			planned
			lists
			watches
			operates
		}{a, ls, ws, os}
	case has{lists: true, watches: true, plans: true}:
		return struct {
			planned
			lists
			watches
		}{a, ls, ws}
	case has{lists: true, operates: true, plans: true}:
		return struct {
			planned
			lists
			operates
		}{a, ls, os}
	case has{watches: true, operates: true, plans: true}:
		return struct {
			planned
			watches
			operates
		}{a, ws, os}
	case has{lists: true, plans: true}:
		return struct {
			planned
			lists
		}{a, ls}
	case has{watches: true, plans: true}:
		return struct {
			planned
			watches
		}{a, ws}
	case has{operates: true, plans: true}:
		return struct {
			planned
			operates
		}{a, os}
	}
	return a
}
