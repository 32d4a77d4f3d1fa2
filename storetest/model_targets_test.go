package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

func (h *handle) PutTargets(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
	if err := assigner.CheckTargets(head, sets, gone); err != nil && h.bug != targetsUnchecked && h.bug != targetsLateCheck {
		return err
	}
	if h.bug == targetsNoContext {
		ctx = context.WithoutCancel(ctx)
	}
	return h.call(ctx, "put targets", func(now time.Time) error {
		if err := assigner.CheckTargets(head, sets, gone); err != nil && h.bug == targetsLateCheck {
			return err
		}
		if h.older(head) {
			if h.bug == targetsHalfFenced {
				h.discard(gone)
			}
			return assigner.ErrSuperseded
		}
		h.gap(targetsGap)
		h.putHead(head, now)
		if h.bug == targetsReplaced {
			clear(h.sets)
		}
		for i, s := range sets {
			if h.bug == batchTorn && i > 0 {
				h.gap(batchTorn)
			}
			h.putSet(head, s)
		}
		h.discard(gone)
		h.hintPlan(len(sets), len(gone))
		return nil
	})
}

// gap lets others in between two halves of a step.
func (h *handle) gap(b bug) {
	if h.bug == b {
		h.mu.Unlock()
		time.Sleep(time.Millisecond)
		h.mu.Lock()
	}
}

func (h *handle) older(head assigner.Head) bool {
	older := h.planHead.Token > head.Token || h.planHead.Token == head.Token && h.planHead.Epoch > head.Epoch
	switch h.bug {
	case targetsUnfenced:
		return false
	case epochIgnored:
		return h.planHead.Token > head.Token
	case headsAsText:
		return cmp.Or(strings.Compare(decimal(h.planHead.Token), decimal(head.Token)), strings.Compare(decimal(h.planHead.Epoch), decimal(head.Epoch))) > 0
	case equalHeadRefused:
		return older || h.planHead.Token == head.Token && h.planHead.Epoch == head.Epoch
	}
	return older
}

func (h *handle) putHead(head assigner.Head, now time.Time) {
	if h.bug != writerDates {
		head.WrittenAt = now.UTC().Truncate(time.Microsecond)
	}
	if head.Digest == 0 && h.bug != claimLosesDigest {
		head.Digest = h.planHead.Digest
	}
	switch h.bug {
	case targetsShare:
	case historyCut:
		head.History = slices.Clone(head.History[:min(len(head.History), 1<<16)])
	case historyAsText:
		head.History = []byte(strings.ToValidUTF8(string(head.History), "?"))
	default:
		head.History = slices.Clone(head.History)
	}
	if len(head.History) == 0 && h.bug != claimLosesHistory {
		head.History = h.planHead.History
	}
	if h.bug == headInexact {
		head.Token, head.Digest = uint64(float64(head.Token)), assigner.Digest(float64(head.Digest/2))*2
	}
	h.planHead = head
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

func (h *handle) putSet(head assigner.Head, s assigner.Set) {
	s.Found, s.Token, s.Epoch, s.Incarnation = true, head.Token, head.Epoch, head.Incarnation
	if h.bug != targetsShare {
		s.Keys = slices.Clone(s.Keys)
	}
	switch h.bug {
	case setIncarnationNow:
		s.Incarnation = h.number
	case setKeysCut:
		s.Keys = s.Keys[:min(len(s.Keys), 1000)]
	case setKeysSorted:
		slices.Sort(s.Keys)
	case setKeysCollated:
		slices.SortFunc(s.Keys, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	case emptySetDropped:
		if len(s.Keys) == 0 {
			return
		}
	}
	h.sets[s.Instance] = s
}

func (h *handle) discard(gone []instance.ID) {
	if h.bug == goneStays {
		return
	}
	if h.bug == goneTakesAll && len(gone) > 0 {
		clear(h.sets)
	}
	for _, id := range gone {
		delete(h.sets, id)
	}
}

func (h *handle) hintPlan(sets, gone int) {
	n := min(1, sets+gone)
	switch h.bug {
	case planUnhinted:
		n = 0
	case goneUnhinted:
		n = min(1, sets)
	case hintPerSet:
		n = sets + gone
	case claimHinted:
		n = 1
	}
	for range n {
		h.hint(lease.Change{Kind: lease.ChangePlanned})
	}
}

func (h *handle) TargetsOf(ctx context.Context, id instance.ID) (head assigner.Head, set assigner.Set, err error) {
	if err := id.Check(); err != nil {
		return head, set, err
	}
	err = h.call(ctx, "targets", func(time.Time) error {
		head = h.planHead
		if h.bug != historyToAll {
			head.History = nil
		}
		set = h.sets[id]
		set.Instance = id
		set = h.readSet(set)
		set.Found = set.Found || h.bug == unknownIsEmpty
		return nil
	})
	return head, set, err
}

func (h *handle) AllTargets(ctx context.Context) (head assigner.Head, sets []assigner.Set, err error) {
	err = h.call(ctx, "all targets", func(time.Time) error {
		head = h.planHead
		if h.bug != targetsShare {
			head.History = slices.Clone(head.History)
		}
		for _, id := range slices.Sorted(maps.Keys(h.sets)) {
			sets = append(sets, h.readSet(h.sets[id]))
		}
		return nil
	})
	switch h.bug {
	case targetsCapped:
		sets = sets[:min(len(sets), 500)]
	case targetsCollated:
		slices.SortStableFunc(sets, func(a, b assigner.Set) int {
			return strings.Compare(strings.ToLower(string(a.Instance)), strings.ToLower(string(b.Instance)))
		})
	}
	return head, sets, err
}

func (h *handle) readSet(s assigner.Set) assigner.Set {
	if h.bug == setsUnderNewest && s.Found {
		s.Token, s.Epoch, s.Incarnation = h.planHead.Token, h.planHead.Epoch, h.planHead.Incarnation
	}
	if h.bug != targetsShare {
		s.Keys = slices.Clone(s.Keys)
	}
	return s
}
