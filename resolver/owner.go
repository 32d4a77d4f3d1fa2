package resolver

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/status"
)

// Owner is who had a key when the store was asked.
type Owner struct {
	// Key is the workload.
	Key string
	// Instance is how the owner describes itself. Only its ID is known where it is no member.
	Instance instance.Instance
	// Token is the fencing token of the owner's term.
	Token uint64
	// State is status.Active, or status.Transferring while the owner winds the workload down: it still
	// holds the key then, and takes nothing new. Owners from a list of leases are always Active.
	State status.State
	// Draining: the owner was told to let go of everything it has.
	Draining bool
	// Age is how long before this answer the store was asked.
	Age time.Duration
}

// Errors of Resolve and Await. Test with errors.Is.
var (
	// ErrUnknown: the key is none of the fleet's workloads, as Config.Known says. Asking again is of no use.
	ErrUnknown = errors.New("tenure: unknown workload")
	// ErrNoOwner: nobody had the key when the store was asked: it is moving, was never started, or is
	// stopped. Ask again, or let Await do it.
	ErrNoOwner = errors.New("tenure: workload has no owner")
	// ErrNoAddress: the key has an owner, and it cannot be reached. It gave no address
	// (coordinator.Config.Instance), or it is not a member of the fleet (any more). The Owner that
	// comes along names it.
	ErrNoAddress = errors.New("tenure: owner has no address")
	// ErrUnavailable: the store does not answer, and what is in memory is too old.
	ErrUnavailable = fault.ErrUnavailable
	// ErrInvalid: the key or a field of Config cannot be used.
	ErrInvalid = fault.ErrInvalid
)

// addressed adds what the registry knows of the owner.
func (o Owner) addressed(f fleet) (Owner, error) {
	m, known := f.members[o.Instance.ID]
	if !known {
		return o, fmt.Errorf("%q: %w: %s is not a member", o.Key, ErrNoAddress, o.Instance.ID)
	}
	o.Instance, o.Draining = m.Instance.Clone(), m.Draining || m.Leaving
	if o.Instance.Address == "" {
		return o, fmt.Errorf("%q: %w: %s gave none, see instance.Instance.Address", o.Key, ErrNoAddress, o.Instance.ID)
	}
	return o, nil
}
