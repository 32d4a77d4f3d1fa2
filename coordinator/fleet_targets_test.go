package coordinator_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
)

// round is how long it takes to notice, plan and carry out beyond the TTL.
const round = 2500 * time.Millisecond

// post is an instance's way to the targets. What put does instead of writing is up to the test.
type post struct {
	*faulty
	mu  sync.Mutex
	put func(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error
}

func (p *post) PutTargets(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
	p.mu.Lock()
	put := p.put
	p.mu.Unlock()
	if put != nil {
		return put(ctx, head, sets, gone)
	}
	return p.faulty.PutTargets(ctx, head, sets, gone)
}

func (p *post) set(put func(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put = put
}

// posted starts instances whose writes of targets the test can meddle with.
func (f *fleet) posted(ids ...string) map[string]*post {
	posts := map[string]*post{}
	for _, id := range ids {
		p := &post{}
		n := f.add(id, func(c *coordinator.Config) { c.Targets = p })
		p.faulty = n.fault
		posts[id] = p
		n.start(context.Background())
	}
	return posts
}

// A planner is suspended in the middle of a write. By the time it arrives somebody else plans.
func TestWriteOfADeposedPlannerLoses(t *testing.T) {
	bubble(t, 12, func(t *testing.T, f *fleet) {
		posts := f.posted("a", "b", "c")
		after(40 * time.Second)
		old := f.planner()
		resumed := make(chan struct{})
		outcome := make(chan error, 10)
		posts[old.id].set(func(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
			<-resumed
			err := f.store.PutTargets(context.WithoutCancel(ctx), head, sets, gone)
			outcome <- err
			return err
		})
		f.join("d")
		after(1100 * time.Millisecond)
		f.crash(old.id)
		within(t, 10*time.Second+round, "everything runs on the others", func() bool { return f.unowned() == 0 && f.witness.loads()[old.id] == 0 })
		head, _, err := f.store.AllTargets(t.Context())
		if err != nil || string(head.Planner) == old.id {
			t.Errorf("the head is %+v, %v", head, err)
		}
		owners := f.witness.owners()
		close(resumed)
		after(100 * time.Millisecond)
		if err := <-outcome; err == nil {
			t.Error("the late write was accepted")
		}
		if now, _, _ := f.store.AllTargets(t.Context()); now.Planner != head.Planner {
			t.Errorf("the head is %+v, and was %+v", now, head)
		}
		if !maps.Equal(owners, f.witness.owners()) {
			t.Error("the late write moved something")
		}
		posts[old.id].set(nil)
		old.fault.heal()
		after(time.Minute)
		f.balanced("a", "b", "c", "d")
	})
}

// The planner dies after the first of two batches.
func TestPlannerDiesInTheMiddleOfAWrite(t *testing.T) {
	for half, name := range []string{"first half", "second half"} {
		subBubble(t, name, 12, func(t *testing.T, f *fleet) {
			posts := f.posted("a", "b", "c", "d")
			after(time.Minute)
			old := f.planner()
			var died atomic.Bool
			posts[old.id].set(func(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
				if len(sets) < 2 || died.Load() {
					return f.store.PutTargets(ctx, head, sets, gone)
				}
				died.Store(true)
				part := sets[:len(sets)/2]
				if half == 1 {
					part = sets[len(sets)/2:]
				}
				if err := f.store.PutTargets(ctx, head, part, nil); err != nil {
					t.Error(err)
				}
				old.fault.cut()
				return errBroken
			})
			f.join("e")
			within(t, 5*time.Second, "the planner died while it wrote", died.Load)
			within(t, 10*time.Second+round, "everything runs", func() bool { return f.unowned() == 0 && f.witness.loads()[old.id] == 0 })
			old.stop()
			f.nodes["dead"] = old
			delete(f.nodes, old.id)
			after(time.Minute)
			left := slices.DeleteFunc([]string{"a", "b", "c", "d", "e"}, func(id string) bool { return id == old.id })
			f.balanced(left...)
		})
	}
}

// Somebody deletes all sets. Nobody stops anything, and the next plan is carried out all the same.
func TestLostTargetsStopNothing(t *testing.T) {
	bubble(t, 12, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c")
		after(40 * time.Second)
		before := f.starts()
		f.wipe()
		after(2 * time.Minute)
		if f.starts() != before || f.unowned() != 0 {
			t.Errorf("lost targets cost %d starts, and %d workloads do not run", f.starts()-before, f.unowned())
		}
		f.wipe()
		victim := slices.DeleteFunc([]string{"a", "b", "c"}, func(id string) bool { return id == f.planner().id })[0]
		f.crash(victim)
		within(t, 10*time.Second+round, "everything runs", func() bool { return f.unowned() == 0 && f.witness.loads()[victim] == 0 })
	})
}

// wipe deletes the set of every instance.
func (f *fleet) wipe() {
	f.t.Helper()
	head, sets, err := f.store.AllTargets(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	var gone []instance.ID
	for _, s := range sets {
		gone = append(gone, s.Instance)
	}
	if err := f.store.PutTargets(f.t.Context(), head, nil, gone); err != nil {
		f.t.Fatal(err)
	}
}

// One set is lost before its instance has read it: the planner sees that nothing comes of it.
func TestLostSetIsWrittenAgain(t *testing.T) {
	bubble(t, 12, func(t *testing.T, f *fleet) {
		e := f.listen()
		posts := f.posted("a", "b")
		after(40 * time.Second)
		posts[f.planner().id].set(func(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
			kept := slices.DeleteFunc(slices.Clone(sets), func(s assigner.Set) bool {
				return s.Instance == "c" && len(s.Keys) > 0 && e.heard(coordinator.PlannerRewriting, "") == 0
			})
			return f.store.PutTargets(ctx, head, kept, gone)
		})
		f.join("c")
		within(t, 10*time.Second, "c has its share", func() bool { return f.witness.loads()["c"] == 4 && f.unowned() == 0 })
		if e.heard(coordinator.PlannerRewriting, "set of c") == 0 {
			t.Error("it was not told that a set was lost")
		}
	})
}

// The store was restored to an earlier plan. The planner writes again, and only its head arrives: the sets beside it are
// still those of before, and nobody obeys them.
func TestOldSetsBesideANewHeadAreIgnored(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		store := f.forgetful()
		posts := f.posted("a", "b", "c", "d")
		after(40 * time.Second)
		then := store.Snapshot()
		if err := f.leave("d"); err != nil {
			t.Error(err)
		}
		after(time.Minute)
		f.balanced("a", "b", "c")
		before := f.witness.owners()
		var heads atomic.Int64
		for _, p := range posts {
			p.set(func(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
				err := f.store.PutTargets(ctx, head, nil, nil)
				if len(sets)+len(gone) == 0 || err != nil {
					return err
				}
				heads.Add(1)
				return errBroken
			})
		}
		store.Restore(then)
		for range 120 {
			after(time.Second)
			if now := f.witness.owners(); !maps.Equal(now, before) {
				t.Fatalf("old sets were obeyed: %v, before it was %v", now, before)
			}
		}
		if heads.Load() == 0 {
			t.Error("nobody planned")
		}
		for _, p := range posts {
			p.set(nil)
		}
		after(time.Minute)
		f.balanced("a", "b", "c")
	})
}
