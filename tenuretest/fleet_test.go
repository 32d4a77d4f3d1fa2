package tenuretest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/tenuretest"
)

// jobs is a catalogue.
func jobs(n int) []coordinator.Workload[int] {
	var out []coordinator.Workload[int]
	for i := range n {
		out = append(out, coordinator.Workload[int]{Key: fmt.Sprintf("job-%d", i), Value: i})
	}
	return out
}

// inFleet runs a test on a settled fleet of a, b and c.
func inFleet(t *testing.T, workloads int, test func(t *testing.T, f *tenuretest.Fleet[int])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := tenuretest.NewFleet(t, jobs(workloads), nil, tenuretest.FleetConfig{})
		f.Start("a", "b", "c")
		f.Settled()
		test(t, f)
	})
}

// load checks how many workloads each instance runs.
func load(t *testing.T, f *tenuretest.Fleet[int], want map[instance.ID]int) {
	t.Helper()
	for _, id := range []instance.ID{"a", "b", "c", "d"} {
		if got := len(f.Running(id)); got != want[id] {
			t.Errorf("%s runs %d workloads, want %d", id, got, want[id])
		}
	}
}

func TestFleetSettlesEvenly(t *testing.T) {
	inFleet(t, 6, func(t *testing.T, f *tenuretest.Fleet[int]) {
		load(t, f, map[instance.ID]int{"a": 2, "b": 2, "c": 2})
		if len(f.Owners()) != 6 || f.OwnerOf("job-0") == "" || f.Starts("job-0") == 0 {
			t.Errorf("%v", f.Owners())
		}
		f.Start("d")
		f.Settled()
		if n := len(f.Running("d")); n != 1 {
			t.Errorf("d runs %d", n)
		}
	})
}

func TestKillIsACrash(t *testing.T) {
	inFleet(t, 6, func(t *testing.T, f *tenuretest.Fleet[int]) {
		lost, began := f.Running("a"), time.Now()
		f.Kill("a")
		load(t, f, map[instance.ID]int{"b": 2, "c": 2})
		if held, err := f.Store().Leases(t.Context()); err != nil || len(held) != 7 { // one is the planner's
			t.Errorf("a crash released something: %v, %v", held, err)
		}
		if v, _ := f.Store().Members(t.Context()); len(v.Members) != 3 {
			t.Errorf("a crash left the fleet: %v", v.Members)
		}
		f.Settled()
		load(t, f, map[instance.ID]int{"b": 3, "c": 3})
		if took := time.Since(began); took < 5*time.Second || took > 15*time.Second {
			t.Errorf("the failover took %v", took)
		}
		for _, key := range lost {
			if f.Starts(key) < 2 {
				t.Errorf("%s was not started again", key)
			}
		}
	})
}

func TestStopAndDrainHandOver(t *testing.T) {
	for how, act := range map[string]func(*tenuretest.Fleet[int], instance.ID){
		"stop": (*tenuretest.Fleet[int]).Stop, "drain": (*tenuretest.Fleet[int]).Drain,
	} {
		t.Run(how, func(t *testing.T) {
			inFleet(t, 6, func(t *testing.T, f *tenuretest.Fleet[int]) {
				began := time.Now()
				act(f, "b")
				f.Settled()
				load(t, f, map[instance.ID]int{"a": 3, "c": 3})
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("the handover took %v", took)
				}
			})
		})
	}
}

func TestPausedInstanceIsTakenOverAndFindsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ended := map[instance.ID]error{}
		f := tenuretest.NewFleet(t, jobs(1), func(ctx context.Context, term *runner.Term, _ int) error {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			ended[term.Lease().Owner] = context.Cause(ctx)
			return nil
		}, tenuretest.FleetConfig{})
		f.Start("a", "b")
		f.Settled()
		first := f.OwnerOf("job-0")
		f.Pause(first)
		f.Settled()
		pass(time.Minute)
		second := f.OwnerOf("job-0")
		if second == first || second == "" {
			t.Fatalf("%q owns it after the pause of %q", second, first)
		}
		mu.Lock()
		if len(ended) != 0 {
			t.Errorf("a paused process told its workers: %v", ended)
		}
		mu.Unlock()
		f.Resume(first)

		mu.Lock()
		if !errors.Is(ended[first], lease.ErrLost) || len(ended) != 1 {
			t.Errorf("after the pause: %v", ended)
		}
		mu.Unlock()
		f.Settled()
		if f.OwnerOf("job-0") != second {
			t.Error("the work moved back")
		}
	})
}

func TestPauseWithinTheTTLCostsNothing(t *testing.T) {
	inFleet(t, 6, func(t *testing.T, f *tenuretest.Fleet[int]) {
		before := f.Owners()
		for range 10 {
			f.Pause("a")
			pass(5 * time.Second)
			f.Resume("a")
			pass(5 * time.Second)
		}
		f.Settled()
		for key, id := range f.Owners() {
			if before[key] != id || f.Starts(key) > 2 {
				t.Errorf("%s moved", key)
			}
		}
	})
}

func TestPartitions(t *testing.T) {
	t.Run("all", func(t *testing.T) {
		inFleet(t, 6, func(t *testing.T, f *tenuretest.Fleet[int]) {
			f.Cut("a")
			f.Settled()
			load(t, f, map[instance.ID]int{"b": 3, "c": 3})
			f.Heal("a")
			f.Settled()
			load(t, f, map[instance.ID]int{"a": 2, "b": 2, "c": 2})
		})
	})
	t.Run("registry", func(t *testing.T) {
		inFleet(t, 6, func(t *testing.T, f *tenuretest.Fleet[int]) {
			before := f.Owners()
			f.Cut("a", tenuretest.AllRegistryOps)
			pass(5 * time.Minute)
			for key, id := range before {
				if id == "a" && f.OwnerOf(key) != "a" {
					t.Errorf("%s was taken from a", key)
				}
			}
			f.Heal("a")
			f.Settled()
		})
	})
	t.Run("registry, and nothing to run", func(t *testing.T) {
		inFleet(t, 1, func(t *testing.T, f *tenuretest.Fleet[int]) {
			idle := instance.ID("a")
			if f.OwnerOf("job-0") == idle {
				idle = "b"
			}
			f.Cut(idle, tenuretest.OpHeartbeat)
			f.Settled()
			if v, err := f.Store().Members(t.Context()); err != nil || len(v.Members) != 2 {
				t.Errorf("the fleet settled with the members %v, %v", v.Members, err)
			}
		})
	})
	t.Run("status", func(t *testing.T) {
		inFleet(t, 6, func(t *testing.T, f *tenuretest.Fleet[int]) {
			f.Cut("a", tenuretest.AllStatusOps)
			f.Stop("b")
			f.Settled()
			load(t, f, map[instance.ID]int{"a": 3, "c": 3})
		})
	})
}

func TestFleetOutlivesAWipe(t *testing.T) {
	inFleet(t, 6, func(t *testing.T, f *tenuretest.Fleet[int]) {
		before := f.Owners()
		f.Faults("a").Wipe()
		pass(time.Minute)
		f.Settled()
		for key, id := range before {
			if f.OwnerOf(key) != id || f.Starts(key) > 2 {
				t.Errorf("%s moved or was restarted", key)
			}
		}
	})
}

func TestFleetWithItsOwnCoordinatorConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tenuretest.NewFleet(t, jobs(4), nil, tenuretest.FleetConfig{Coordinator: coordinator.Config{
			Timing: lease.Timing{LeaseTTL: time.Minute},
		}})
		f.Join(instance.Instance{ID: "big", Capacity: 3})
		f.Start("small")
		f.Settled()
		f.SetWorkloads(jobs(8))
		f.Settled()
		if got := f.Coordinator("big").Instance().Capacity; got != 3 || len(f.Owners()) != 8 {
			t.Errorf("capacity %d, owners %v", got, f.Owners())
		}
		if f.Coordinator("small").Snapshot().Timing.LeaseTTL != time.Minute {
			t.Error("the timing is not used")
		}
	})
}

func TestFinishedWorkCountsAsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tenuretest.NewFleet(t, jobs(3), func(context.Context, *runner.Term, int) error { return nil }, tenuretest.FleetConfig{})
		f.Start("a")
		f.Settled()
		if len(f.Owners()) != 0 || f.Starts("job-2") != 1 {
			t.Errorf("%v", f.Owners())
		}
	})
}

func TestRandomEventsNeverMakeTwoOwners(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, seed) })
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := try(t, func(t testing.TB) {
			f := tenuretest.NewFleet(t, jobs(1), nil, tenuretest.FleetConfig{Patience: time.Second})
			f.Settled()
		})
		if len(got) != 1 || !slices.ContainsFunc(got, func(s string) bool { return len(s) < 4000 }) {
			t.Error(got)
		}
	})
}
