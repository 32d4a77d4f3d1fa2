package coordinator_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/internal/long"
)

var (
	largeInstances = flag.Int("fleet.instances", long.Or(40, 8), "instances of TestLargeFleet")
	largeWorkloads = flag.Int("fleet.workloads", long.Or(2000, 160), "workloads of TestLargeFleet")
)

// A large fleet starts, grows by one, loses a hundredth, and is replaced by another version: it always
// comes to run everything, evenly, with the fewest moves and few calls, and never twice.
func TestLargeFleet(t *testing.T) {
	n, workloads := *largeInstances, *largeWorkloads
	synctest.Test(t, func(t *testing.T) {
		version := func(v string) func(*coordinator.Config) {
			return func(c *coordinator.Config) { c.Instance.Version = v }
		}
		f := largeFleet(t, n, workloads, version("1"))

		after(2 * time.Minute) // everything has calmed down
		f.callsPerInterval()
		intervals := long.Or(150, 25)
		after(time.Duration(intervals) * 2 * time.Second)
		steady := f.callsPerInterval() / float64(intervals)
		t.Logf("steady: %.3f store calls per instance and interval", steady)
		if steady > 4+1/float64(n) { // the planner's looks and its standby's tries come once per fleet
			t.Errorf("%.2f store calls per instance and interval while nothing changes", steady)
		}

		before := f.starts()
		begin := time.Now()
		f.add("joiner", version("1")).start(context.Background())
		after(time.Second)
		f.converges(begin, "join", time.Minute, workloads)
		if moves := f.starts() - before; moves != workloads/(n+1) {
			t.Errorf("a join moved %d workloads, the fewest are %d", moves, workloads/(n+1))
		}

		after(time.Minute)
		before, begin = f.starts(), time.Now()
		lost := 0
		dead := max(n/100, 1)
		for i := range dead {
			id := fmt.Sprintf("old-%04d", i*7)
			lost += f.witness.loads()[id]
			f.crash(id)
		}
		within(t, 10*time.Second+2*round, "everything runs again", func() bool { return f.starts()-before >= lost && f.unowned() == 0 })
		for i := range dead {
			f.nodes[fmt.Sprintf("old-%04d", i*7)].stop()
			f.nodes[fmt.Sprint("dead-", i)] = f.nodes[fmt.Sprintf("old-%04d", i*7)]
			delete(f.nodes, fmt.Sprintf("old-%04d", i*7))
		}
		f.converges(begin, "crash of 1 %", time.Minute, workloads)
		if moves := f.starts() - before; moves != lost {
			t.Errorf("the death of %d instances moved %d workloads, they had %d", dead, moves, lost)
		}
		after(time.Minute)
		f.replaceAll(version("2"), workloads)
		f.close()
	})
}

// largeFleet starts n instances, and waits until they run everything, evenly.
func largeFleet(t *testing.T, n, workloads int, change ...func(*coordinator.Config)) *fleet {
	t.Helper()
	f := newFleet(t, workloads)
	f.cfg.Logger = nil
	f.cfg.Planner.ExpectedInstances = n
	f.fixed = f.catalogue() // every instance of a real fleet has its own; here they would fill the memory
	begin := time.Now()
	for i := range n {
		f.add(fmt.Sprintf("old-%04d", i), change...).start(context.Background())
	}
	f.converges(begin, "start", 30*time.Second, workloads)
	return f
}

// replaceAll rolls out another version with a surge of a tenth.
func (f *fleet) replaceAll(version func(*coordinator.Config), workloads int) {
	f.t.Helper()
	var old []string
	for id, n := range f.nodes {
		if n.Snapshot().Instance.Version == "1" && f.witness.loads()[id] > 0 {
			old = append(old, id)
		}
	}
	slices.Sort(old)
	before, begin := f.starts(), time.Now()
	f.callsPerInterval()
	surge := max(len(old)/10, 1)
	for at, batch := range slices.Collect(slices.Chunk(old, surge)) {
		for i := range batch {
			f.add(fmt.Sprintf("new-%04d", at*surge+i), version).start(context.Background())
		}
		after(10 * time.Second)
		for _, id := range batch {
			f.nodes[id].stop()
		}
		for _, id := range batch {
			n := f.nodes[id]
			if err := f.leave(id); err != nil {
				f.t.Error(err)
			}
			n.Coordinator = nil // what it knows is let go; its calls still count
		}
		after(time.Second)
	}
	f.converges(begin, "rolling deploy", 10*time.Minute, workloads)
	f.t.Logf("rolling deploy: %.2f store calls per instance and interval", f.callsPerInterval()/float64(time.Since(begin)/(2*time.Second)))
	if moves := f.starts() - before; moves != workloads {
		f.t.Errorf("%d moves of %d workloads in a rolling deploy", moves, workloads)
	}
}

// converges waits until everything runs, within one of each other.
func (f *fleet) converges(begin time.Time, what string, most time.Duration, workloads int) {
	f.t.Helper()
	even := func() bool {
		loads := f.witness.loads()
		sorted := slices.Sorted(maps.Values(loads))
		total := 0
		for _, n := range sorted {
			total += n
		}
		alive := 0
		for id := range f.nodes {
			if len(id) < 4 || id[:4] != "dead" {
				alive++
			}
		}
		return total == workloads && len(loads) == alive && sorted[len(sorted)-1]-sorted[0] <= 1
	}
	for !even() {
		if time.Since(begin) > most {
			f.t.Errorf("%s: not even after %v: %v, %d do not run", what, most, f.witness.loads(), f.unowned())
			return
		}
		after(500 * time.Millisecond)
	}
	f.t.Logf("%s: even after %v", what, time.Since(begin).Round(time.Millisecond))
}

// callsPerInterval returns the store calls per instance since the last look.
func (f *fleet) callsPerInterval() float64 {
	calls, n := 0, 0
	for _, node := range f.every {
		mine := 0
		for _, c := range node.fault.counts() {
			mine += c
		}
		if mine > 0 {
			calls += mine
			n++
		}
	}
	return float64(calls) / float64(max(n, 1))
}

// Instances are restarted one after another under new names, faster than a plan settles: what they ran is elsewhere at once.
func TestRollingRestartLeavesNothingUnowned(t *testing.T) {
	n, workloads := *largeInstances, *largeWorkloads
	synctest.Test(t, func(t *testing.T) {
		f := largeFleet(t, n, workloads)
		after(40 * time.Second)
		before := f.starts()
		for i := range min(n, 20) {
			if err := f.leave(fmt.Sprintf("old-%04d", i)); err != nil {
				t.Error(err)
			}
			f.add(fmt.Sprintf("new-%04d", i)).start(context.Background())
			for range 15 {
				after(100 * time.Millisecond)
				if u := f.unowned(); u > 0 {
					after(100 * time.Millisecond)
					if f.unowned() > 0 {
						t.Fatalf("%d workloads are without an owner for more than 100 ms after restart %d", u, i)
					}
				}
			}
		}
		f.converges(time.Now(), "rolling restart", 2*time.Minute, workloads)
		t.Logf("%.2f moves per workload", float64(f.starts()-before)/float64(workloads))
		f.close()
	})
}
