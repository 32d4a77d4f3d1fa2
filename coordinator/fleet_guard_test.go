package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
)

// ear hears what the planner decides, whoever it is.
type ear struct {
	mu     sync.Mutex
	events []coordinator.PlannerEvent
}

func (e *ear) ObservePlanner(p coordinator.PlannerEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, p)
}

// heard returns how often a decision of the kind was told, with this in its reason.
func (e *ear) heard(kind coordinator.PlannerEventKind, why string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.events {
		if p.Kind == kind && strings.Contains(p.Why, why) {
			n++
		}
	}
	return n
}

// listen has all instances to come heard.
func (f *fleet) listen() *ear {
	e := &ear{}
	f.cfg.Observers = append(f.cfg.Observers, e)
	return e
}

// planner returns the instance that plans; nil where none does.
func (f *fleet) planner() *node {
	f.t.Helper()
	var found *node
	for _, n := range f.nodes {
		if n.Snapshot().Planning.Here {
			if found != nil {
				f.t.Errorf("%s and %s plan", found.id, n.id)
			}
			found = n
		}
	}
	return found
}

// unowned is how many workloads nobody runs.
func (f *fleet) unowned() int { return len(f.keys) - len(f.witness.owners()) }

func TestJoinsAreCollectedAndOrphansPlacedAtOnce(t *testing.T) {
	bubble(t, 12, func(t *testing.T, f *fleet) {
		f.cfg.Settle = -1
		e := f.listen()
		f.join("a")
		after(0)
		f.balanced("a")
		after(40 * time.Second)
		plans := e.heard(coordinator.PlannerWrote, "")
		f.join("b")
		after(600 * time.Millisecond)
		f.join("c")
		after(900 * time.Millisecond)
		f.balanced("a") // nothing moves before the last has been here for a second
		f.join("d")
		after(1500 * time.Millisecond)
		f.balanced("a", "b", "c", "d")
		if got := e.heard(coordinator.PlannerWrote, "") - plans; got != 1 {
			t.Errorf("three joins in a row made %d plans", got)
		}
		if err := f.leave("b"); err != nil {
			t.Error(err)
		}
		after(20 * time.Millisecond)
		if n := f.unowned(); n != 0 {
			t.Errorf("%d workloads of a leaver wait", n)
		}
		// Joins that never end are planned for all the same.
		for i := range 8 {
			f.join(fmt.Sprint("e", i))
			after(900 * time.Millisecond)
		}
		if n := f.witness.loads()["e0"]; n == 0 {
			t.Error("5 s after the first of many joins nothing has moved")
		}
	})
}

// A third of the fleet is gone at once: rather the store's fault than so many deaths.
func TestMassLossIsWaitedOut(t *testing.T) {
	bubble(t, 24, func(t *testing.T, f *fleet) {
		e := f.listen()
		for i := range 12 {
			f.join(fmt.Sprintf("n%02d", i))
		}
		after(40 * time.Second)
		for i := 3; i < 9; i++ {
			f.crash(fmt.Sprintf("n%02d", i))
		}
		after(13 * time.Second)
		if e.heard(coordinator.PlannerHolding, "mass loss") == 0 || f.unowned() < 2 {
			t.Errorf("a TTL after the loss of 6 of 12 instances %d workloads wait", f.unowned())
		}
		within(t, 10*time.Second, "everything runs a TTL later", func() bool { return f.unowned() == 0 })
		if n := e.heard(coordinator.PlannerHolding, ""); n > 4 { // told again as more go missing
			t.Errorf("the wait was told %d times", n)
		}
		if e.heard(coordinator.PlannerPlacing, "") != 1 {
			t.Error("the end of the wait was not told")
		}
	})
}

func TestColdStartWaitsForTheExpectedInstances(t *testing.T) {
	subBubble(t, "all come", 9, func(t *testing.T, f *fleet) {
		f.cfg.Planner.ExpectedInstances = 3
		e := f.listen()
		f.join("a")
		after(2 * time.Second)
		f.join("b")
		after(2 * time.Second)
		if n := f.unowned(); n != 9 {
			t.Errorf("%d workloads were placed before the third instance came", 9-n)
		}
		f.join("c")
		after(100 * time.Millisecond)
		f.balanced("a", "b", "c")
		after(time.Minute)
		if n := f.starts(); n != 9 {
			t.Errorf("%d starts of 9 workloads", n)
		}
		if e.heard(coordinator.PlannerHolding, "1 of 3") == 0 {
			t.Error("the wait was not told")
		}
		// A fleet that runs waits for nobody, whoever plans.
		for _, id := range []string{"c", "b"} {
			if err := f.leave(id); err != nil {
				t.Error(err)
			}
			after(time.Second)
		}
		f.balanced("a")
	})
	subBubble(t, "one comes", 9, func(t *testing.T, f *fleet) {
		f.cfg.Planner.ExpectedInstances, f.cfg.Planner.ExpectedWait = 3, 5*time.Second
		f.join("a")
		after(4900 * time.Millisecond)
		if f.unowned() != 9 {
			t.Error("the wait was cut short")
		}
		after(200 * time.Millisecond)
		f.balanced("a")
	})
}

func TestCapsOnMovesToAndFromOneInstance(t *testing.T) {
	for _, c := range []struct{ in, out int }{{1, 100}, {100, 1}} {
		subBubble(t, fmt.Sprint(c.in, " in, ", c.out, " out"), 12, func(t *testing.T, f *fleet) {
			f.cfg.Planner.MovesIn, f.cfg.Planner.MovesOut = c.in, c.out
			f.linger = 5 * time.Second
			f.join("a")
			after(40 * time.Second)
			f.join("b", "c")
			most := 0
			for range 120 {
				after(time.Second)
				moving := 0
				for _, w := range f.nodes["a"].Snapshot().Workloads {
					if w.Phase == coordinator.Removing {
						moving++
					}
				}
				most = max(most, moving)
			}
			want := 2 // one to each of two
			if c.out == 1 {
				want = 1
			}
			if most != want {
				t.Errorf("caps %+v: %d moved at once, want %d", c, most, want)
			}
			f.balanced("a", "b", "c")
			// A drain knows no caps.
			if err := f.nodes["a"].BeginDrain(t.Context()); err != nil {
				t.Error(err)
			}
			after(5100 * time.Millisecond)
			f.balanced("b", "c")
		})
	}
}

func TestCoolDownLeavesAloneWhatMovedLately(t *testing.T) {
	for _, successor := range []bool{false, true} {
		subBubble(t, fmt.Sprint("successor ", successor), 4, func(t *testing.T, f *fleet) {
			f.cfg.Planner.CoolDown = time.Minute
			e := f.listen()
			f.join("a")
			after(40 * time.Second)
			f.join("b")
			after(5 * time.Second)
			f.balanced("a", "b")
			if err := f.leave("a"); err != nil { // its workloads move, cool-downs or not
				t.Error(err)
			}
			after(5 * time.Second)
			f.balanced("b")
			if successor {
				// Whoever plans next knows what moved, though it was not there.
				f.join("c")
				after(time.Second)
				if err := f.store.Revoke(t.Context(), "tenure:planner"); err != nil {
					t.Error(err)
				}
				after(5 * time.Second)
				if p := f.planner(); p == nil || p.id != "c" {
					t.Errorf("planner is %v", p)
				}
			} else {
				f.join("c")
			}
			after(40 * time.Second)
			f.balanced("b")
			if e.heard(coordinator.PlannerDeferring, "cool-down") == 0 {
				t.Error("it was not told that moves wait")
			}
			after(30 * time.Second)
			f.balanced("b", "c")
		})
	}
}

// A drain waits for nothing: no debounce, no settling, no budget, no cap, no cool-down.
func TestDrainWaitsForNothing(t *testing.T) {
	bubble(t, 20, func(t *testing.T, f *fleet) {
		f.cfg.Policy.Budget, f.cfg.Settle = 1, time.Minute
		f.cfg.Planner = coordinator.PlannerConfig{Debounce: 10 * time.Second, MovesIn: 1, MovesOut: 1, CoolDown: time.Hour}
		f.join("a", "b")
		after(2 * time.Minute)
		f.join("c")
		after(time.Second)
		busiest := "a"
		if f.witness.loads()["b"] > 0 {
			busiest = "b"
		}
		n := f.witness.loads()[busiest]
		if err := f.nodes[busiest].BeginDrain(t.Context()); err != nil {
			t.Error(err)
		}
		after(20 * time.Millisecond)
		if left := f.witness.loads()[busiest]; n == 0 || left != 0 || f.unowned() != 0 {
			t.Errorf("of %d workloads %d are still there, %d nowhere", n, left, f.unowned())
		}
	})
}

// In a rolling update planning goes to the version that will remain, once, and not to a newcomer at once.
func TestPlanningGoesToTheNewestVersion(t *testing.T) {
	bubble(t, 6, func(t *testing.T, f *fleet) {
		e := f.listen()
		f.rollOut("1", 0, 3)
		after(40 * time.Second)
		f.rollOut("2", 0, 1)
		after(5 * time.Second)
		if p := f.planner(); p == nil || !strings.HasPrefix(p.id, "v1") {
			t.Errorf("%v plans right after the new version came", p)
		}
		after(10 * time.Second)
		if p := f.planner(); p == nil || !strings.HasPrefix(p.id, "v2") {
			t.Errorf("%v plans once the new version has proved itself", p)
		}
		f.rollOut("2", 1, 3)
		for i := range 3 {
			after(15 * time.Second)
			if err := f.leave(name("1", i)); err != nil {
				t.Error(err)
			}
		}
		after(time.Minute)
		if n := e.heard(coordinator.PlannerElected, ""); n != 2 {
			t.Errorf("%d elections in a rolling update", n)
		}
	})
}

func TestQuestions(t *testing.T) {
	subBubble(t, "planner", 6, func(t *testing.T, f *fleet) {
		f.join("a", "b")
		after(40 * time.Second)
		for id, n := range f.nodes {
			why, err := n.Explain(t.Context(), "job-001")
			if err != nil || string(why.Instance) != f.witness.owners()["job-001"] || why.RunnerUp == why.Instance || why.Rule == "" {
				t.Errorf("%s explains %+v, %v", id, why, err)
			}
			out, err := n.WhatIf(t.Context(), assigner.Change{Add: 1})
			if err != nil || len(out.Now.Moves) != 0 || len(out.Then.Moves) != 2 {
				t.Errorf("%s: with one more %d workloads move, and %d without, %v", id, len(out.Then.Moves), len(out.Now.Moves), err)
			}
			if _, err := n.Explain(t.Context(), "no such key"); err == nil {
				t.Errorf("%s explains a workload that is none", id)
			}
			p := n.Snapshot().Planning
			if p.Mode != coordinator.PlanningPlanner || p.Planner == "" || p.Token == 0 || p.Epoch == 0 || p.Digest == 0 || !p.Known || p.Age < time.Second || p.Why == "" {
				t.Errorf("%s shows %+v", id, p)
			}
			if slices.Contains(n.Running(), "tenure:planner") {
				t.Errorf("%s runs %v", id, n.Running())
			}
		}
	})
	subBubble(t, "everyone", 6, func(t *testing.T, f *fleet) {
		f.cfg.Assigner = assigner.Rendezvous{}
		f.add("a").start(context.Background())
		after(40 * time.Second)
		a := f.nodes["a"]
		why, err := a.Explain(t.Context(), "job-001")
		if p := a.Snapshot().Planning; err != nil || why.Instance != "a" || p.Mode != coordinator.PlanningEveryone || p.Age >= 0 || p.Planner != "" {
			t.Errorf("%+v, %v, %+v", why, err, p)
		}
	})
}
