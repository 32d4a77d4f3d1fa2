package coordinator

import (
	"fmt"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
)

// OwnerAware is implemented by assigners whose targets depend on Input.Owners, as those of package
// assigner that need it do: the coordinator then reads who owns what before it plans.
type OwnerAware interface {
	assigner.Assigner
	// HeedsOwners reports whether the targets depend on the owners.
	HeedsOwners() bool
}

// heedsOwners reports whether an assigner's targets depend on who holds what.
func heedsOwners(a assigner.Assigner) bool {
	v, ok := a.(OwnerAware)
	return ok && v.HeedsOwners()
}

// choose returns the assigner, or the default, and the list of owners if it heeds them.
func choose(a assigner.Assigner, m lease.Manager) (assigner.Assigner, lease.Lister, error) {
	lister, lists := m.(lease.Lister)
	if a == nil && lists {
		a = assigner.Sticky{}
	}
	if a == nil {
		a = assigner.Balanced{}
	}
	switch {
	case !heedsOwners(a):
		return a, nil, nil
	case !lists:
		return nil, nil, fault.Invalid("Config.Assigner", fmt.Sprintf("%T", a),
			"needs to know who owns what, and this lease manager cannot list its leases (lease.Lister); choose assigner.Rendezvous or assigner.Balanced")
	}
	return a, lister, nil
}
