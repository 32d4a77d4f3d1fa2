package assigner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// Targets is the optional contract of a store that carries plans from the fleet's planner to
// everyone. An assigner that needs one view of who owns what (Sticky, Weighted) is planned in one
// place; the others read their own set and obey. It is advice: the lease decides who may run. A
// lost or stale set costs time, never exclusiveness.
//
// Implementations are safe for concurrent use. Outcomes, contexts and clocks are as in
// lease.Manager: done, refused (ErrInvalid, ErrClosed, ErrReadOnlyStore, ErrSuperseded) or unknown
// (ErrUnavailable); every call may be repeated.
type Targets interface {
	// PutTargets writes the head and the sets, and deletes the sets of gone. It is refused with
	// ErrSuperseded, and then nothing is written, where the stored head is newer: a planner that
	// was deposed, however late its write arrives, changes nothing. An equal head is accepted, so
	// that a plan can be sent in several batches, and again after a lost answer. Each batch is
	// written as a whole or not at all; sets that are not listed stay.
	//
	// A new planner claims the fleet by a write without sets, before it reads: from then on nothing
	// of its predecessor is written.
	PutTargets(ctx context.Context, head Head, sets []Set, gone []instance.ID) error
	// TargetsOf reads the head and one instance's set. The set's Found is false where there is none,
	// which means "unknown", and not "nothing": such an instance keeps what it runs.
	TargetsOf(ctx context.Context, id instance.ID) (Head, Set, error)
	// AllTargets reads the head and every set, ordered by instance ID. For a new planner, and for people.
	AllTargets(ctx context.Context) (Head, []Set, error)
}

// Head describes the plan that was written last. The zero Head is that of a fleet without a plan.
type Head struct {
	// Token is the planner's fencing token, Epoch the number of its plan, counted from 1; a claim
	// has Epoch 0. A head with the larger token, or with an equal token and the larger epoch, is the newer.
	Token uint64 `json:"token"`
	Epoch uint64 `json:"epoch"`
	// Planner is the instance that planned.
	Planner instance.ID `json:"planner"`
	// Digest of the plan's inputs.
	Digest Digest `json:"digest"`
	// Incarnation of the store that the plan was made in. Targets of an earlier one are ignored.
	Incarnation uint64 `json:"incarnation"`
	// History is what a successor inherits (last known members, recent moves), in the planner's own
	// encoding; at most MaxHistory bytes.
	History []byte `json:"history,omitempty"`
	// WrittenAt is the store's clock at the write. Stores fill it.
	WrittenAt time.Time `json:"writtenAt"`
}

// Newer reports whether h supersedes o.
func (h Head) Newer(o Head) bool {
	return h.Token > o.Token || h.Token == o.Token && h.Epoch > o.Epoch
}

// Set is what one instance should run.
type Set struct {
	Instance instance.ID `json:"instance"`
	// Keys of the workloads, ordered. Empty is a decision: run nothing.
	Keys []string `json:"keys"`
	// Token, Epoch and Incarnation are those of the head that the set was written under. Stores fill them.
	Token       uint64 `json:"token"`
	Epoch       uint64 `json:"epoch"`
	Incarnation uint64 `json:"incarnation"`
	// Found is false in an answer where no set is stored. Writers need not set it.
	Found bool `json:"found"`
}

// MaxHistory is the longest Head.History, in bytes.
const MaxHistory = 1 << 20

// Errors of a target store. All but ErrSuperseded are the same values as in package lease.
var (
	// ErrSuperseded: a newer planner has written. Stop planning; nothing was done.
	ErrSuperseded = errors.New("tenure: plan superseded by a newer planner")

	ErrUnavailable   = fault.ErrUnavailable
	ErrInvalid       = fault.ErrInvalid
	ErrClosed        = fault.ErrClosed
	ErrReadOnlyStore = fault.ErrReadOnlyStore
)

// CheckTargets returns an error that matches ErrInvalid where the arguments of PutTargets cannot
// be stored. Stores call it before any I/O.
func CheckTargets(head Head, sets []Set, gone []instance.ID) error {
	if head.Token == 0 {
		return fault.Invalid("head token", head.Token, "must be the planner's fencing token, which is never 0")
	}
	if err := fault.CheckName("head planner", string(head.Planner)); err != nil {
		return err
	}
	if len(head.History) > MaxHistory {
		return fault.Invalid("head history", fmt.Sprintf("of %d bytes", len(head.History)), fmt.Sprintf("must be at most %d bytes", MaxHistory))
	}
	seen := make(map[instance.ID]bool, len(sets)+len(gone))
	for _, id := range gone {
		if err := checkOnce(seen, id); err != nil {
			return err
		}
	}
	for _, s := range sets {
		if err := checkOnce(seen, s.Instance); err != nil {
			return err
		}
		for _, key := range s.Keys {
			if err := fault.CheckName("target key", key); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkOnce(seen map[instance.ID]bool, id instance.ID) error {
	if err := id.Check(); err != nil {
		return err
	}
	if seen[id] {
		return fault.Invalid("target instance", string(id), "occurs twice; give each instance one set, or list it as gone")
	}
	seen[id] = true
	return nil
}
