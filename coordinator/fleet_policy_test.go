package coordinator_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
)

func TestBudgetMovesAFewAtATimeUntilAllIsEven(t *testing.T) {
	for i := range 4 {
		deaf, planning := i%2 == 1, bothWays[i/2]
		t.Run(fmt.Sprint(planning, " without hints ", deaf), func(t *testing.T) {
			bubble(t, 10, func(t *testing.T, f *fleet) {
				f.cfg.Policy.Budget, f.cfg.Planning = 1, planning
				f.linger = 10 * time.Second
				for _, id := range []string{"a", "b"} {
					n := f.add(id)
					n.fault.deaf = deaf
					n.start(context.Background())
					after(time.Minute * time.Duration(len(f.nodes)%2))
				}
				most := 0
				for range 180 {
					after(time.Second)
					moving := 0
					for _, w := range f.nodes["a"].Snapshot().Workloads {
						if w.Phase == coordinator.Removing {
							moving++
						}
					}
					most = max(most, moving)
				}
				if most != 1 {
					t.Errorf("%d workloads moved at once, the budget is 1", most)
				}
				f.balanced("a", "b")
			})
		})
	}
}

// A rolling update starts each new instance before it stops an old one: every workload moves once.
func TestRollingUpdateMovesEachWorkloadOnce(t *testing.T) {
	bubble(t, 12, func(t *testing.T, f *fleet) {
		version := func(v string) func(*coordinator.Config) {
			return func(c *coordinator.Config) { c.Instance.Version = v }
		}
		for i := range 4 {
			f.add(fmt.Sprint("old-", i), version("1")).start(context.Background())
		}
		after(40 * time.Second)
		f.balanced("old-0", "old-1", "old-2", "old-3")
		before := f.starts()
		for i := range 4 {
			f.add(fmt.Sprint("new-", i), version("2")).start(context.Background())
			after(40 * time.Second)
			if err := f.leave(fmt.Sprint("old-", i)); err != nil {
				t.Error(err)
			}
			after(40 * time.Second)
		}
		after(time.Minute)
		f.balanced("new-0", "new-1", "new-2", "new-3")
		if moves := f.starts() - before; moves != 12 {
			t.Errorf("%d moves for 12 workloads", moves)
		}
	})
}

// Every assigner in one fleet test: joins, a leave and a crash end in what its plan says.
func TestEveryAssigner(t *testing.T) {
	for _, a := range []assigner.Assigner{
		assigner.Sticky{}, assigner.Weighted{}, assigner.Balanced{}, assigner.Rendezvous{}, assigner.Rendezvous{CapPercent: 110},
		assigner.Primary{}, assigner.Primary{Rollout: true},
	} {
		t.Run(fmt.Sprintf("%T%v", a, a), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 24)
				f.cfg.Assigner = a
				f.join("a", "b", "c")
				after(40 * time.Second)
				f.asPlanned()
				f.join("d")
				after(30 * time.Second)
				f.asPlanned()
				if err := f.leave("b"); err != nil {
					t.Error(err)
				}
				after(30 * time.Second)
				f.asPlanned()
				f.crash("c")
				f.nodes["c"].stop()
				delete(f.nodes, "c")
				after(30 * time.Second)
				f.asPlanned()
				f.close()
			})
		})
	}
}

// asPlanned fails unless every workload runs where the planner's plan, or that of everyone, says.
func (f *fleet) asPlanned() {
	f.t.Helper()
	owners := f.witness.owners()
	for id, n := range f.nodes {
		s := n.Snapshot()
		plan, want := s.Plan.Plan, len(f.keys)
		if s.Planning.Mode == coordinator.PlanningPlanner && !s.Planning.Here {
			want = f.witness.loads()[id] // it knows its own share alone
		}
		if len(plan.Targets) != want {
			f.t.Errorf("the plan of %s places %d of %d workloads", id, len(plan.Targets), want)
		}
		for _, target := range plan.Targets {
			if owners[target.Key] != string(target.Instance) {
				f.t.Errorf("%s plans %s for %s, and %q runs it", id, target.Key, target.Instance, owners[target.Key])
			}
		}
	}
}

// starts is how often work was started in all.
func (f *fleet) starts() (n int) {
	f.witness.mu.Lock()
	defer f.witness.mu.Unlock()
	for _, c := range f.witness.starts {
		n += c
	}
	return n
}
