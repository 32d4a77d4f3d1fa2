package coordinator

import (
	"reflect"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// Store is a store that implements all three contracts, as every store of this project does.
// Where the parts live in different places, pass a [Separate].
//
// What a store can do besides is found by assertion: hints (lease.Watcher), the list of leases
// (lease.Lister), carrying plans (assigner.Targets). Wrapping a store hides these unless the wrapper
// forwards them.
type Store interface {
	lease.Manager
	registry.Registry
	status.Store
}

// Separate joins three stores into one Store, for example leases in Postgres and membership in
// Redis. All three parts are required. The optional capabilities of the parts (hints, the list of
// leases, targets) are found.
type Separate struct {
	lease.Manager
	registry.Registry
	status.Store
}

// parts takes a Store apart, so that the optional capabilities of each part are seen.
func parts(s Store) (Separate, error) {
	var p Separate
	switch v := s.(type) {
	case nil:
		return p, fault.Invalid("store", "nil", "pass a store")
	case Separate:
		p = v
	case *Separate:
		if v != nil {
			p = *v
		}
	default:
		return Separate{s, s, s}, nil
	}
	switch {
	case p.Manager == nil:
		return p, fault.Invalid("Separate.Manager", "nil", "pass a lease.Manager")
	case p.Registry == nil:
		return p, fault.Invalid("Separate.Registry", "nil", "pass a registry.Registry")
	case p.Store == nil:
		return p, fault.Invalid("Separate.Store", "nil", "pass a status.Store")
	}
	return p, nil
}

// registryWatcher returns the hints of a registry that is another store than the lease manager;
// nil where the manager's hints, which are followed anyway, are the same.
func (p Separate) registryWatcher() lease.Watcher {
	w, ok := p.Registry.(lease.Watcher)
	if !ok || same(p.Registry, p.Manager) {
		return nil
	}
	return w
}

// targets returns the first part that carries plans; nil where none does.
func (p Separate) targets() assigner.Targets {
	for _, part := range []any{p.Manager, p.Registry, p.Store} {
		if t, ok := part.(assigner.Targets); ok {
			return t
		}
	}
	return nil
}

func same(a, b any) bool {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	return va.Type() == vb.Type() && va.Comparable() && va.Equal(vb)
}
