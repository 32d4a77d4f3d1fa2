package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// head is that of a plan; each token has its own planner.
func (e *env) head(token, epoch uint64) assigner.Head {
	return assigner.Head{Token: token, Epoch: epoch, Planner: instance.ID(fmt.Sprintf("planner-%d", token)), Digest: assigner.Digest(epoch<<8 | 1), Incarnation: 1}
}

func put(ctx context.Context, s Store, head assigner.Head, sets []assigner.Set, gone ...instance.ID) error {
	return s.(assigner.Targets).PutTargets(ctx, head, sets, gone)
}

func (e *env) putTargets(s Store, head assigner.Head, sets []assigner.Set, gone ...instance.ID) {
	e.Helper()
	e.must(put(e.ctx, s, head, sets, gone...), "PutTargets of %d sets and %d gone under the head %d/%d", len(sets), len(gone), head.Token, head.Epoch)
}

// superseded fails the check unless the write is refused as that of a deposed planner.
func (e *env) superseded(s Store, head assigner.Head, sets []assigner.Set, gone ...instance.ID) {
	e.Helper()
	err := put(e.ctx, s, head, sets, gone...)
	e.that(errors.Is(err, assigner.ErrSuperseded), "PutTargets under the older head %d/%d answered %v, want ErrSuperseded", head.Token, head.Epoch, err)
	e.that(!errors.Is(err, lease.ErrUnavailable), "the refusal matches ErrUnavailable, so a deposed planner would try again: %v", err)
}

func (e *env) targetsOf(s Store, id instance.ID) (assigner.Head, assigner.Set) {
	e.Helper()
	head, set, err := s.(assigner.Targets).TargetsOf(e.ctx, id)
	e.must(err, "TargetsOf %q", id)
	return head, set
}

func (e *env) allTargets(s Store) (assigner.Head, []assigner.Set) {
	e.Helper()
	head, sets, err := s.(assigner.Targets).AllTargets(e.ctx)
	e.must(err, "AllTargets")
	return head, sets
}

// target fails the check unless the set is stored under the head, with these keys.
func (e *env) target(s Store, under assigner.Head, id instance.ID, keys ...string) {
	e.Helper()
	_, set := e.targetsOf(s, id)
	e.sameSet(set, under, id, keys)
}

// untargeted fails the check where a set is stored.
func (e *env) untargeted(s Store, id instance.ID) {
	e.Helper()
	_, set := e.targetsOf(s, id)
	e.that(!set.Found, "TargetsOf %q, which has no set, found one of %d keys", id, len(set.Keys))
}

func (e *env) sameSet(got assigner.Set, under assigner.Head, id instance.ID, keys []string) {
	e.Helper()
	e.that(got.Found, "the set of %q was not found", id)
	e.that(got.Instance == id, "the set of %q came back as that of %q", id, got.Instance)
	e.that(slices.Equal(got.Keys, keys), "the set of %q has %d keys, %s; want %d, %s", id, len(got.Keys), brief(got.Keys), len(keys), brief(keys))
	e.that(got.Token == under.Token && got.Epoch == under.Epoch && got.Incarnation == under.Incarnation,
		"the set of %q has token %d, epoch %d, incarnation %d; want %d, %d, %d, of the head that it was written under",
		id, got.Token, got.Epoch, got.Incarnation, under.Token, under.Epoch, under.Incarnation)
}

// brief shows enough of a set to see which one it is.
func brief(keys []string) string { return fmt.Sprintf("%.300s", fmt.Sprintf("%q", keys)) }

// sameHead compares all but the history and the time.
func (e *env) sameHead(got, want assigner.Head) {
	e.Helper()
	e.that(got.Token == want.Token && got.Epoch == want.Epoch && got.Planner == want.Planner && got.Digest == want.Digest && got.Incarnation == want.Incarnation,
		"the head is %d/%d by %q, digest %v, incarnation %d; want %d/%d by %q, %v, %d", got.Token, got.Epoch, got.Planner, got.Digest, got.Incarnation,
		want.Token, want.Epoch, want.Planner, want.Digest, want.Incarnation)
}

func (e *env) probePutTargets() probe {
	head, id := e.head(7, 1), e.owner()
	return probe{name: "PutTargets",
		do: func(ctx context.Context, s Store) error {
			return put(ctx, s, head, []assigner.Set{{Instance: id, Keys: []string{"k"}}}, "gone")
		},
		undone: func() { e.untargeted(e.b, id) },
		done:   func() { e.target(e.b, head, id, "k") },
	}
}

func (e *env) probeTargets() probe {
	return probe{name: "TargetsOf and AllTargets", do: func(ctx context.Context, s Store) error {
		if _, _, err := s.(assigner.Targets).TargetsOf(ctx, "x"); err != nil {
			return err
		}
		_, _, err := s.(assigner.Targets).AllTargets(ctx)
		return err
	}}
}
