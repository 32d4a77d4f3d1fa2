package tenuretest

import (
	"context"
	"fmt"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// Engines look for optional capabilities by type assertion, and behave otherwise where one is
// missing. So what wraps a store must have those that the store has, and no other: one type for each
// combination, put together from the parts below.

// lists is a lease.Lister with faults.
type lists struct {
	faults *Faults
	store  lease.Lister
}

func (l lists) Leases(ctx context.Context) ([]lease.Lease, error) {
	return through(ctx, l.faults, AllLeaseOps, OpLeases, l.store.Leases)
}

// operates is what an operator may do, with faults: Revoke and Provision come together.
type operates struct {
	faults *Faults
	store  any
}

func (o operates) Revoke(ctx context.Context, key string) error {
	r, ok := o.store.(lease.Revoker)
	if !ok {
		return fault.Invalid("Revoke of", key, fmt.Sprintf("%T is no lease.Revoker", o.store))
	}
	return act(ctx, o.faults, AllLeaseOps, OpRevoke, func(ctx context.Context) error { return r.Revoke(ctx, key) })
}

func (o operates) Provision(ctx context.Context) error {
	p, ok := o.store.(lease.Provisioner)
	if !ok {
		return nil // it never freezes, so there is nothing to say
	}
	return act(ctx, o.faults, AllLeaseOps, OpProvision, p.Provision)
}

// has says which capabilities a store has.
type has struct{ lists, watches, operates, plans bool }

func capabilities(store any) has {
	var h has
	_, h.lists = store.(lease.Lister)
	_, h.watches = store.(lease.Watcher)
	_, revokes := store.(lease.Revoker)
	_, provisions := store.(lease.Provisioner)
	h.operates = revokes || provisions
	_, h.plans = store.(assigner.Targets)
	return h
}

// contracts is a store of all three contracts with faults.
type contracts struct {
	manager
	members
	statuses
}

// wrapAll gives a store the capabilities of m.
func wrapAll(a contracts, m lease.Manager) coordinator.Store {
	f := a.manager.faults
	l, _ := m.(lease.Lister)
	w, _ := m.(lease.Watcher)
	ls, ws, os := lists{f, l}, watches{f, w, AllLeaseOps}, operates{f, m}
	if t, ok := m.(assigner.Targets); ok {
		return wrapPlans(planned{a, plans{f, t}}, ls, ws, os)
	}
	switch capabilities(m) {
	case has{lists: true, watches: true, operates: true}:
		return struct {
			contracts
			lists
			watches
			operates
		}{a, ls, ws, os}
	case has{lists: true, watches: true}:
		return struct {
			contracts
			lists
			watches
		}{a, ls, ws}
	case has{lists: true, operates: true}:
		return struct {
			contracts
			lists
			operates
		}{a, ls, os}
	case has{watches: true, operates: true}:
		return struct {
			contracts
			watches
			operates
		}{a, ws, os}
	case has{lists: true}:
		return struct {
			contracts
			lists
		}{a, ls}
	case has{watches: true}:
		return struct {
			contracts
			watches
		}{a, ws}
	case has{operates: true}:
		return struct {
			contracts
			operates
		}{a, os}
	}
	return a
}

// wrapParts wraps stores that live in different places. What is nil stays nil: the coordinator refuses it.
func wrapParts(f *Faults, s coordinator.Separate) coordinator.Separate {
	if s.Manager != nil {
		s.Manager = wrapAll(contracts{manager: manager{f, s.Manager}}, s.Manager) // only the manager of it is reached
	}
	if s.Registry != nil {
		s.Registry = wrapRegistry(f, s.Registry)
	}
	if s.Store != nil {
		s.Store = statuses{f, s.Store}
	}
	return s
}

// wrapRegistry wraps a registry that is part of a coordinator.Separate.
func wrapRegistry(f *Faults, r registry.Registry) registry.Registry {
	if w, ok := r.(lease.Watcher); ok {
		return struct {
			members
			watches
		}{members{f, r}, watches{f, w, AllRegistryOps}}
	}
	return members{f, r}
}
