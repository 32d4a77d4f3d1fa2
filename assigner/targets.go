package assigner

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
	// written as a whole or not at all, and lists at most MaxBatch instances (see Batches); sets
	// that are not listed stay. Where the store is a lease.Watcher, an accepted batch that lists
	// any instance is hinted once, as lease.ChangePlanned.
	//
	// A new planner claims the fleet by a write without sets, before it reads: from then on nothing
	// of its predecessor is written.
	PutTargets(ctx context.Context, head Head, sets []Set, gone []instance.ID) error
	// TargetsOf reads the head, without its History, and one instance's set. The set's Found is false
	// where there is none, which means "unknown", and not "nothing": such an instance keeps what it runs.
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
	// Digest of the plan's inputs. A write with a zero Digest leaves the stored one, as one with an
	// empty History does: a claim changes who may write, and loses nothing that its planner wants to read.
	Digest Digest `json:"digest"`
	// Incarnation of the store that the plan was made in. Targets of an earlier one are ignored.
	Incarnation uint64 `json:"incarnation"`
	// History is what a successor inherits (last known members, recent moves), in the planner's own
	// encoding; at most MaxHistory bytes. Empty in a write: the stored one stays. AllTargets answers
	// it, TargetsOf does not, since every instance calls that all the time.
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
	// Keys of the workloads, ordered; stores keep them as they come. Empty is a decision: run nothing.
	Keys []string `json:"keys"`
	// Token, Epoch and Incarnation are those of the head that the set was written under. Stores fill them.
	Token       uint64 `json:"token"`
	Epoch       uint64 `json:"epoch"`
	Incarnation uint64 `json:"incarnation"`
	// Found is false in an answer where no set is stored. Writers need not set it.
	Found bool `json:"found"`
}

const (
	// MaxHistory is the longest Head.History, in bytes.
	MaxHistory = 1 << 20
	// MaxBatch is how many instances one PutTargets may list, sets and gone together.
	MaxBatch = 500
	// batchKeys is how many keys make a batch full before that, so that none grows to many megabytes.
	batchKeys = 50_000
)

// Batches splits what a plan writes into what PutTargets takes, in order and gone last. It yields
// at least once, so that the head of a plan that changes no set is written too.
func Batches(sets []Set, gone []instance.ID) iter.Seq2[[]Set, []instance.ID] {
	return func(yield func([]Set, []instance.ID) bool) {
		for {
			n, keys := 0, 0
			for n < min(len(sets), MaxBatch) && (n == 0 || keys+len(sets[n].Keys) <= batchKeys) {
				keys += len(sets[n].Keys)
				n++
			}
			left := 0 // of gone, once all sets are out
			if n == len(sets) {
				left = min(len(gone), MaxBatch-n)
			}
			if !yield(sets[:n:n], gone[:left:left]) {
				return
			}
			sets, gone = sets[n:], gone[left:]
			if len(sets)+len(gone) == 0 {
				return
			}
		}
	}
}

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
	if n := len(sets) + len(gone); n > MaxBatch {
		return fault.Invalid("target batch", fmt.Sprintf("of %d instances", n), fmt.Sprintf("must list at most %d, sets and gone together; send it in parts, as Batches makes them", MaxBatch))
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
