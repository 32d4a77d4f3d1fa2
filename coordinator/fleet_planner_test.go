package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
)

// The planner's lease is taken away again and again, while the fleet changes.
func TestPlannersLeaseIsLostWhilePlanning(t *testing.T) {
	bubble(t, 12, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c", "d")
		after(40 * time.Second)
		for i := range 6 {
			if i%2 == 0 {
				f.join(fmt.Sprint("n", i))
			} else {
				f.crash(fmt.Sprint("n", i-1))
			}
			after(time.Duration(i) * 300 * time.Millisecond)
			if err := f.store.Revoke(t.Context(), "tenure:planner"); err != nil {
				t.Error(err)
			}
			within(t, 12*time.Second+round, "everything runs", func() bool { return f.unowned() == 0 && f.witness.loads()[fmt.Sprint("n", i-1)] == 0 })
			if i%2 == 1 {
				id := fmt.Sprint("n", i-1)
				f.nodes[id].stop()
				f.nodes["dead-"+id] = f.nodes[id]
				delete(f.nodes, id)
			}
		}
		after(time.Minute)
		f.balanced("a", "b", "c", "d")
	})
}

// Nobody can write a plan for a while: what runs goes on, and what has no owner is placed when
// somebody can again.
func TestFleetWithoutAPlannerGoesOn(t *testing.T) {
	bubble(t, 12, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c")
		after(40 * time.Second)
		broken := func(op string) error {
			if op == "PutTargets" {
				return errBroken
			}
			return nil
		}
		for _, n := range f.nodes {
			n.fault.set(func() { n.fault.fail = broken })
		}
		before := f.starts()
		f.crash("b")
		after(5 * time.Minute)
		if f.starts() != before || f.unowned() != 4 {
			t.Errorf("without a planner %d starts, and %d workloads wait for one", f.starts()-before, f.unowned())
		}
		if s := f.planner().Snapshot(); s.Plan.Err == nil {
			t.Error("the snapshot does not tell why there is no plan")
		}
		for _, id := range []string{"a", "c"} {
			f.nodes[id].fault.heal()
		}
		within(t, round, "everything runs", func() bool { return f.unowned() == 0 })
		after(time.Minute)
		f.balanced("a", "c")
	})
}

// A planner whose heartbeats fail does not see the fleet: somebody else plans.
func TestPlannerThatSeesNothingMakesRoom(t *testing.T) {
	bubble(t, 12, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c")
		after(40 * time.Second)
		old := f.planner()
		old.fault.set(func() {
			old.fault.fail = func(op string) error {
				if op == "Heartbeat" {
					return errBroken
				}
				return nil
			}
		})
		after(15 * time.Second)
		if p := f.planner(); p == nil || p == old {
			t.Errorf("the planner is %v", p)
		}
		f.join("d")
		after(10 * time.Second)
		if n := f.witness.loads(); n["d"] == 0 || n[old.id] != 4 || f.unowned() != 0 {
			t.Errorf("loads %v: the blind one keeps what it has, and d gets its share of the rest", n)
		}
	})
}

// Another planner has written: this one stops at once, and lets somebody else have the turn.
func TestSupersededPlannerStops(t *testing.T) {
	bubble(t, 12, func(t *testing.T, f *fleet) {
		e := f.listen()
		f.join("a", "b", "c")
		after(time.Minute)
		old := f.planner()
		head, _, err := f.store.AllTargets(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		head.Token++
		if err := f.store.PutTargets(t.Context(), head, nil, nil); err != nil {
			t.Fatal(err)
		}
		f.join("d")
		after(5 * time.Second)
		if p := f.planner(); e.heard(coordinator.PlannerSuperseded, "") != 1 || p == nil || p == old {
			t.Errorf("superseded %d times, and %v plans", e.heard(coordinator.PlannerSuperseded, ""), p)
		}
		after(10 * time.Second)
		f.balanced("a", "b", "c", "d")
	})
}

// A store comes back with older targets, of its former life: they say nothing.
func TestTargetsOfAnEarlierIncarnationAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 10)
		store := f.forgetful()
		f.join("a", "b")
		after(40 * time.Second)
		then := store.Snapshot()
		f.join("c")
		after(time.Minute)
		if err := f.leave("a"); err != nil {
			t.Error(err)
		}
		after(time.Minute)
		f.balanced("b", "c")
		before := f.witness.owners()
		store.Restore(then)
		for range 14 {
			after(time.Second)
			for key, id := range before {
				if f.witness.owners()[key] != id {
					t.Fatalf("%s left %s", key, id)
				}
			}
		}
		after(time.Minute)
		f.balanced("b", "c")
		f.close()
	})
}

// One instance contends beside the planner, not all; and when both die the others step in.
func TestStandbys(t *testing.T) {
	bubble(t, 16, func(t *testing.T, f *fleet) {
		for i := range 8 {
			f.join(fmt.Sprint("n", i))
		}
		after(40 * time.Second)
		contending := func() (ids []string) {
			for id, n := range f.nodes {
				n.fault.counts()
				_ = id
			}
			after(30 * time.Second)
			for id, n := range f.nodes {
				if n.fault.counts()["Acquire"] > 0 {
					ids = append(ids, id)
				}
			}
			return ids
		}
		ids := contending()
		if len(ids) != 1 {
			t.Errorf("%v contend beside the planner", ids)
		}
		f.crash(f.planner().id)
		f.crash(ids[0])
		within(t, 10*time.Second+round, "everything runs without both", func() bool { return f.unowned() == 0 })
		alive := 0
		for id, n := range f.nodes {
			if n.Snapshot().Planning.Here && f.witness.loads()[id] > 0 {
				alive++
			}
		}
		if alive != 1 {
			t.Errorf("%d planners", alive)
		}
	})
}

// A new version brings workloads that the planner, of the old one, does not know.
func TestNewVersionBringsWorkloads(t *testing.T) {
	bubble(t, 6, func(t *testing.T, f *fleet) {
		f.rollOut("1", 0, 2)
		after(40 * time.Second)
		f.keys = append(f.keys, "new-1", "new-2")
		f.rollOut("2", 0, 2)
		within(t, 15*time.Second, "the new workloads run", func() bool { return f.unowned() == 0 })
		for i := range 2 {
			if err := f.leave(name("1", i)); err != nil {
				t.Error(err)
			}
		}
		after(time.Minute)
		f.balanced(name("2", 0), name("2", 1))
	})
}

// A program runs two coordinators with workloads of their own. One of them has the planner; the other
// plans for itself, whoever the planner is.
func TestTwoCataloguesInOneFleet(t *testing.T) {
	bubble(t, 0, func(t *testing.T, f *fleet) {
		lists := [][]string{{"one-1", "one-2", "one-3", "one-4"}, {"two-1", "two-2", "two-3", "two-4"}}
		for _, id := range []string{"a", "b", "c"} {
			for list, keys := range lists {
				f.keys = keys
				f.add(fmt.Sprint(id, list), func(c *coordinator.Config) { c.Instance.ID = instance.ID(id) }).start(context.Background())
			}
		}
		f.keys = slices.Concat(lists...)
		after(40 * time.Second)
		f.spread("a0", "a1", "b0", "b1", "c0", "c1")
		before := f.starts()
		for range 4 { // planning goes round
			p := f.planner()
			if err := f.store.Revoke(t.Context(), "tenure:planner"); err != nil {
				t.Error(err)
			}
			after(time.Minute)
			if f.planner() == p {
				t.Errorf("%s plans still", p.id)
			}
		}
		if n := f.starts() - before; n != 0 || f.unowned() != 0 {
			t.Errorf("%d moves, %d do not run", n, f.unowned())
		}
		for _, id := range []string{"a0", "a1"} {
			if err := f.leave(id); err != nil {
				t.Error(err)
			}
		}
		after(30 * time.Second)
		f.spread("b0", "b1", "c0", "c1")
	})
}

// The store forgets everything, and somebody changes the catalogue before anybody has noticed: what the planner then
// finds missing was lost by the store, and not by its owners.
func TestPlannerTakesALossOfDataForNoLossOfOwners(t *testing.T) {
	for step := range time.Duration(8) {
		subBubble(t, fmt.Sprint("step ", int(step)), 12, func(t *testing.T, f *fleet) {
			store := f.forgetful()
			f.join("a", "b", "c")
			after(time.Minute + step*250*time.Millisecond)
			before, starts := f.witness.owners(), f.starts()
			fewer := f.catalogue()[1:]
			for _, n := range f.nodes {
				if err := n.SetWorkloads(fewer); err != nil {
					t.Error(err)
				}
			}
			after(900 * time.Millisecond) // just before it is planned for
			store.Restore(nil)
			after(30 * time.Second)
			for _, w := range fewer {
				if now := f.witness.owners()[w.Key]; now != before[w.Key] {
					t.Errorf("step %d: %s went from %s to %q", step, w.Key, before[w.Key], now)
				}
			}
			if n := f.starts() - starts; n != 0 {
				t.Errorf("step %d: %d workers were started", step, n)
			}
		})
	}
}

// spread fails unless each of these runs something, and everything runs.
func (f *fleet) spread(ids ...string) {
	f.t.Helper()
	if loads := f.witness.loads(); len(loads) != len(ids) || f.unowned() != 0 {
		f.t.Errorf("loads are %v, and %d do not run", loads, f.unowned())
	}
}
