package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
)

// The checks of targets in which planners take over from each other, or from a store's former life.

func a06(e *env) {
	old, claim := e.head(20, 9), e.head(21, 0)
	old.History, old.Digest = []byte("inherited"), 42
	e.putTargets(e.a, old, []assigner.Set{{Instance: "x", Keys: []string{"k"}}})
	late := old
	late.Epoch++
	arrived, sent := make(chan error, 1), time.Now()
	if delay := e.cfg.Faults.Delay; delay != nil { // the last write is on its way, and passes the claim
		delay(e.t, e.a, e.unit)
		go func() { arrived <- put(e.ctx, e.a, late, []assigner.Set{{Instance: "x"}}) }()
		e.sleep(e.unit / 4)
		defer delay(e.t, e.a, 0)
	}
	claim.Digest = 0
	e.putTargets(e.b, claim, nil)
	if e.cfg.Faults.Delay != nil {
		if time.Since(sent) >= e.unit {
			panic(tooSlow("a claim took longer than the write that it was to overtake"))
		}
		err := <-arrived
		e.that(errors.Is(err, assigner.ErrSuperseded), "a write that arrived after its planner was deposed answered %v, want ErrSuperseded", err)
	}
	head, all := e.allTargets(e.b)
	e.that(head.Token == claim.Token && head.Epoch == 0 && head.Planner == claim.Planner, "after a claim the head is %+v, want that of %+v", head, claim)
	e.that(string(head.History) == "inherited" && head.Digest == old.Digest, "after a claim the history is %q and the digest %v; want them as the predecessor left them", head.History, head.Digest)
	e.that(len(all) == 1, "after a claim there are %d sets, want the predecessor's one", len(all))
	e.sameSet(all[0], old, "x", []string{"k"})
	e.superseded(e.a, late, []assigner.Set{{Instance: "x"}}, "y")
	late.Epoch = math.MaxInt64
	e.superseded(e.a, late, nil)
	first := claim
	first.Epoch = 1
	e.putTargets(e.b, first, []assigner.Set{{Instance: "x", Keys: []string{"new"}}})
	e.target(e.a, first, "x", "new")
}

func a12(e *env) {
	sess := e.session(e.a, e.cfg.MaxTTL)
	before := e.renewed(e.a, sess).Incarnation.Number
	old := e.head(20, 1)
	old.Incarnation = before
	e.putTargets(e.a, old, []assigner.Set{{Instance: "x", Keys: []string{"k"}}})
	e.sleep(e.unit / 10)
	e.cfg.Faults.Wipe(e.t, e.a)
	after := e.renewed(e.a, sess).Incarnation.Number
	e.that(after > before, "after a loss of data the incarnation is %d, want above %d", after, before)
	e.untargeted(e.b, "x")
	head, all := e.allTargets(e.b)
	e.sameHead(head, assigner.Head{})
	e.that(len(all) == 0, "all data was lost, and there are %d sets", len(all))

	late := old // of a planner that does not know what happened
	late.Epoch++
	e.putTargets(e.a, late, []assigner.Set{{Instance: "x", Keys: []string{"late"}}})
	next := e.head(21, 1)
	next.Incarnation = after
	e.putTargets(e.b, next, []assigner.Set{{Instance: "y", Keys: []string{"new"}}})
	e.each(func(s Store) {
		e.target(s, late, "x", "late")
		e.target(s, next, "y", "new")
	})
	e.superseded(e.a, late, []assigner.Set{{Instance: "y"}})
}

// a13: in each round a planner writes its last plan while its successor writes its first. Each plan gives
// both sets the same key, so a reader who sees a mixture, or sets that are not the head's, sees a torn batch.
func a13(e *env) {
	rounds := uint64(40)
	if testing.Short() {
		rounds = 10
	}
	done, torn := make(chan struct{}), make(chan error, 1)
	go func() { torn <- wholePlans(e, done) }()
	for round := range rounds {
		last, first := e.head(10+round, 2), e.head(11+round, 1)
		var errs [2]error
		var wg sync.WaitGroup
		for i, head := range []assigner.Head{last, first} {
			s := []Store{e.a, e.b}[i]
			late := time.Duration(e.rnd.Int64N(int64(e.unit / 100)))
			keys := []string{fmt.Sprintf("%d/%d", head.Token, head.Epoch)}
			wg.Go(func() {
				pause(e.ctx, late)
				errs[i] = put(e.ctx, s, head, []assigner.Set{{Instance: "left", Keys: keys}, {Instance: "right", Keys: keys}})
			})
		}
		wg.Wait()
		e.that(errs[0] == nil || errors.Is(errs[0], assigner.ErrSuperseded), "a write beside a successor's answered %v, want nil or ErrSuperseded", errs[0])
		e.must(errs[1], "the newest planner's write beside a predecessor's")
		want := fmt.Sprintf("%d/%d", first.Token, first.Epoch)
		e.target(e.a, first, "left", want)
		e.target(e.b, first, "right", want)
	}
	close(done)
	e.must(<-torn, "reading beside writes")
}

// wholePlans reads until the planners are done, and answers what is wrong with what it read.
func wholePlans(e *env, done <-chan struct{}) error {
	var last assigner.Head
	for {
		select {
		case <-done:
			return nil
		default:
		}
		head, all, err := e.b.(assigner.Targets).AllTargets(e.ctx)
		switch {
		case err != nil:
			return err
		case last.Newer(head):
			return fmt.Errorf("the head went back from %d/%d to %d/%d", last.Token, last.Epoch, head.Token, head.Epoch)
		case len(all) == 0 && head.Token == 0:
		case len(all) != 2:
			return fmt.Errorf("%d sets under the head %d/%d, want both of a batch", len(all), head.Token, head.Epoch)
		default:
			want := []string{fmt.Sprintf("%d/%d", head.Token, head.Epoch)}
			if !slices.Equal(all[0].Keys, want) || !slices.Equal(all[1].Keys, want) {
				return fmt.Errorf("sets %q and %q under the head %q: a torn batch", all[0].Keys, all[1].Keys, want)
			}
		}
		last = head
		pause(e.ctx, e.unit/200)
	}
}

func a14(e *env) {
	sess := e.session(e.a, e.long())
	before := e.grant(e.a, sess, e.key()).GrantedAt
	head := e.head(7, 1)
	head.WrittenAt = time.Unix(1, 0)
	e.putTargets(e.b, head, nil)
	after := e.grant(e.a, sess, e.key()).GrantedAt
	e.each(func(s Store) {
		all, _ := e.allTargets(s)
		one, _ := e.targetsOf(s, "x")
		e.that(all.WrittenAt.Equal(one.WrittenAt), "AllTargets says written at %v, TargetsOf %v", all.WrittenAt, one.WrittenAt)
		e.that(!one.WrittenAt.Before(before) && !one.WrittenAt.After(after), "the head was written at %v, between grants at %v and %v", one.WrittenAt, before, after)
	})
}

func a15(e *env) {
	head := e.head(7, 3)
	head.History = []byte("kept")
	e.putTargets(e.a, head, []assigner.Set{{Instance: "x", Keys: []string{"k"}}})
	e.kill()
	e.each(func(s Store) {
		e.eventually(25*e.unit, func() bool { return e.answers(s) }, "after a restart of the store, calls still fail")
		e.target(s, head, "x", "k")
		got, all := e.allTargets(s)
		e.that(string(got.History) == "kept" && len(all) == 1, "after a restart the history is %q, and there are %d sets", got.History, len(all))
		e.superseded(s, e.head(7, 2), nil)
	})
}
