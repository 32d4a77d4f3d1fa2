package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// PutTargets implements assigner.Targets. What is stored is never written again in place, so that
// snapshots and readers may share it.
func (s *Store) PutTargets(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
	return s.do(ctx, "put targets", assigner.CheckTargets(head, sets, gone), func(now time.Time) error {
		if s.head.Newer(head) {
			return assigner.ErrSuperseded
		}
		head.WrittenAt, head.Digest = stamp(now), cmp.Or(head.Digest, s.head.Digest)
		if head.History = slices.Clone(head.History); len(head.History) == 0 {
			head.History = s.head.History
		}
		s.head = head
		for _, t := range sets {
			s.targets[t.Instance] = assigner.Set{Instance: t.Instance, Keys: slices.Clone(t.Keys), Found: true,
				Token: head.Token, Epoch: head.Epoch, Incarnation: head.Incarnation}
		}
		for _, id := range gone {
			delete(s.targets, id)
		}
		if len(sets)+len(gone) > 0 {
			s.hint(lease.Change{Kind: lease.ChangePlanned})
		}
		return nil
	})
}

// TargetsOf implements assigner.Targets.
func (s *Store) TargetsOf(ctx context.Context, id instance.ID) (head assigner.Head, set assigner.Set, err error) {
	err = s.do(ctx, "read targets", id.Check(), func(time.Time) error {
		head, set = s.head, s.targets[id]
		head.History, set.Instance, set.Keys = nil, id, slices.Clone(set.Keys)
		return nil
	})
	return head, set, err
}

// AllTargets implements assigner.Targets.
func (s *Store) AllTargets(ctx context.Context) (head assigner.Head, sets []assigner.Set, err error) {
	err = s.do(ctx, "read targets", nil, func(time.Time) error {
		head = s.head
		head.History = slices.Clone(head.History)
		for _, set := range s.targets {
			set.Keys = slices.Clone(set.Keys)
			sets = append(sets, set)
		}
		return nil
	})
	slices.SortFunc(sets, func(a, b assigner.Set) int { return cmp.Compare(a.Instance, b.Instance) })
	return head, sets, err
}
