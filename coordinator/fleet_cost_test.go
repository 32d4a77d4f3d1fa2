package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/goroutine"
	"github.com/tenure-go/tenure/internal/long"
	"github.com/tenure-go/tenure/lease"
)

// One instance with thousands of workloads and one with none: what an interval costs is the same.
func TestStoreCallsPerIntervalDoNotGrowWithTheWorkloads(t *testing.T) {
	for _, n := range []int{1, long.Or(10_000, 500)} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, n)
				f.cfg.Timing = lease.Timing{Jitter: -1}
				f.join("a", "b")
				after(2 * time.Minute) // everybody has settled
				a := f.nodes["a"]
				a.fault.counts()
				a.fault.biggest()
				const intervals = 30
				after(intervals * 2 * time.Second)
				calls, sizes := a.fault.counts(), a.fault.biggest()
				total := 0
				for op, c := range calls {
					most := intervals/10 + 1 // now and then, by the planner, its standby or everyone
					if slices.Contains([]string{"Heartbeat", "Renew", "PutStatus", "Verify"}, op) {
						most = intervals + 1 + intervals/10
					}
					if op == "Acquire" || op == "OpenSession" {
						most = intervals/4 + 1 // by the standby, once per TTL
					}
					if c > most {
						t.Errorf("%d times %s in %d intervals", c, op, intervals)
					}
					total += c
				}
				if total > 4*(intervals+1)+intervals/5 {
					t.Errorf("%d calls in %d intervals: %v", total, intervals, calls)
				}
				if sizes["PutStatus"] != 0 || sizes["members"] != 0 || sizes["Verify"] > 100 {
					t.Errorf("sizes: %v", sizes)
				}
				f.close()
			})
		})
	}
}

// Besides one goroutine per running workload there is a constant number.
func TestGoroutines(t *testing.T) {
	count := func(workloads int) (n int) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, workloads)
			before := goroutine.Count(after)
			f.join("a")
			after(40 * time.Second)
			f.balanced("a")
			n = goroutine.Count(after) - before
			f.close()
		})
		return n
	}
	n := long.Or(2000, 200)
	few, many := count(1), count(n)
	if few > 15 || many-few > n+5 {
		t.Errorf("1 workload: %d goroutines, %d: %d", few, n, many)
	}
}

// A planned handover with hints takes a handful of round trips; without, a look at each side.
func TestHandoverLatency(t *testing.T) {
	for _, c := range []struct {
		name string
		deaf bool
		most time.Duration
	}{{"with hints", false, 20 * time.Millisecond}, {"without hints", true, 5 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 20)
				slow := func(n *node) *node {
					n.fault.set(func() {
						n.fault.deaf = c.deaf
						n.fault.delay = func(string) time.Duration { return time.Millisecond }
					})
					return n
				}
				for _, id := range []string{"a", "b", "c"} {
					slow(f.add(id)).start(context.Background())
				}
				after(40 * time.Second)
				f.balanced("a", "b", "c")
				var took []time.Duration
				rounds := long.Or(20, 5)
				for i := range rounds {
					f.witness.gaps()
					id := fmt.Sprint("n", i)
					slow(f.add(id)).start(context.Background())
					after(10 * time.Second)
					if err := f.nodes[id].BeginDrain(t.Context()); err != nil {
						t.Error(err)
					}
					after(10 * time.Second)
					f.balanced("a", "b", "c")
					if err := f.leave(id); err != nil {
						t.Error(err)
					}
					took = append(took, f.witness.gaps()...)
				}
				slices.Sort(took)
				if len(took) < 2*rounds {
					t.Fatalf("%d handovers", len(took))
				}
				median, worst := took[len(took)/2], took[len(took)-1]
				t.Logf("%d handovers: median %v, worst %v, with 1 ms per store call", len(took), median, worst)
				if median > c.most {
					t.Errorf("the median handover took %v, want at most %v", median, c.most)
				}
				f.close()
			})
		})
	}
}

// With Sticky a join moves the newcomer's share and nothing else, and a leave the leaver's.
func TestFewestMoves(t *testing.T) {
	bubble(t, 30, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c", "d", "e")
		after(40 * time.Second)
		f.balanced("a", "b", "c", "d", "e")
		for _, c := range []struct {
			what  string
			do    func()
			moves int
		}{
			{"a join", func() { f.join("f") }, 5},
			{"a leave", func() { _ = f.leave("b") }, 5},
			{"a crash", func() { f.crash("c") }, 6},
			{"two joins", func() { f.join("g", "h") }, 10},
			{"nothing", func() {}, 0},
		} {
			before := f.starts()
			c.do()
			after(30 * time.Second)
			if got := f.starts() - before; got != c.moves {
				t.Errorf("%s moved %d workloads, the fewest are %d", c.what, got, c.moves)
			}
		}
	})
}
