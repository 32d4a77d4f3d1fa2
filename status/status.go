package status

import (
	"context"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// State is what a workload's last owner said about it.
type State string

// The states. A workload without a record was never owned, or its record expired with its owner.
const (
	Active       State = "active"       // a worker runs
	Transferring State = "transferring" // its owner is winding it down; nobody else should start yet
	Inactive     State = "inactive"     // the worker has returned; the lease is free or about to be
)

// Record is the published state of one workload.
type Record struct {
	Key   string      `json:"key"`
	Name  string      `json:"name,omitempty"` // for people; at most 512 bytes
	State State       `json:"state"`
	Owner instance.ID `json:"owner"`
	// Token of the term that the record speaks of. An older token never overwrites a newer one.
	Token uint64 `json:"token"`
	// Info is free text for people and pages (why it is here, the last error): at most 4 KiB.
	Info string `json:"info,omitempty"`
	// Since is the store's time at which this state of this term was first written. Stores fill it.
	Since time.Time `json:"since"`
	// TTLLeft is how long the record still lived when it was read. Stores fill it.
	TTLLeft time.Duration `json:"ttlLeft"`
}

// MaxInfo is the longest Info, in bytes.
const MaxInfo = 4096

// Check returns an error that matches ErrInvalid where the record cannot be stored.
func (r Record) Check() error {
	if err := fault.CheckName("status key", r.Key); err != nil {
		return err
	}
	if r.Name != "" {
		if err := fault.CheckName("status name", r.Name); err != nil {
			return err
		}
	}
	switch r.State {
	case Active, Transferring, Inactive:
	default:
		return fault.Invalid("status state", string(r.State), "must be active, transferring or inactive")
	}
	if len(r.Info) > MaxInfo {
		return fault.Invalid("status info", fmt.Sprintf("of %d bytes", len(r.Info)), fmt.Sprintf("must be at most %d bytes", MaxInfo))
	}
	return fault.CheckText("status info", r.Info)
}

// Store (tenure.WorkloadStatusStore) is the contract for publishing workload states. It is
// efficiency and display only: a stale or missing record delays a start, it never causes a
// double run. Implementations are safe for concurrent use; outcomes, contexts and clocks are as in
// lease.Manager.
type Store interface {
	// PutStatus writes the records and extends the life of all of that owner's records to ttl from
	// now; an empty batch only extends. A record whose token is older than the stored one is
	// skipped silently; an equal token overwrites only a record of the same owner. Each record's
	// Owner is set to owner.
	PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []Record) error
	// Statuses answers the live records of the keys, ordered by key; absent ones are left out.
	Statuses(ctx context.Context, keys []string) ([]Record, error)
	// AllStatuses answers every live record of the fleet, ordered by key.
	AllStatuses(ctx context.Context) ([]Record, error)
}

// Errors of a status store; the same values as in package lease.
var (
	ErrUnavailable   = fault.ErrUnavailable
	ErrInvalid       = fault.ErrInvalid
	ErrClosed        = fault.ErrClosed
	ErrReadOnlyStore = fault.ErrReadOnlyStore
)

// Check returns an error that matches ErrInvalid where a batch cannot be written. Stores call it before any I/O.
func Check(owner instance.ID, ttl time.Duration, records []Record) error {
	if err := owner.Check(); err != nil {
		return err
	}
	if err := fault.CheckTTL("status TTL", ttl); err != nil {
		return err
	}
	for _, r := range records {
		if err := r.Check(); err != nil {
			return err
		}
	}
	return nil
}
