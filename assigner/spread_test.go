package assigner_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenure-go/tenure/assigner"
)

// crowd returns how many workloads of a group one instance has at most.
func crowd(in assigner.Input, p assigner.Plan, group string) int {
	count, most := map[instanceID]int{}, 0
	for _, w := range in.Workloads {
		if id, ok := p.Target(w.Key); ok && w.Group == group {
			count[id]++
			most = max(most, count[id])
		}
	}
	return most
}

func TestGroupsAreSpreadFromTheStart(t *testing.T) {
	in := assigner.Input{Instances: fleet("a", "b", "c", "d")}
	for i := range 60 {
		group := []string{"red", "", "blue", "red", ""}[i*7%5]
		in.Workloads = append(in.Workloads, assigner.Workload{Key: fmt.Sprintf("w%02d", i), Group: group})
	}
	p := mustPlan(t, assigner.Sticky{}, in)
	if red, blue := crowd(in, p, "red"), crowd(in, p, "blue"); red != 6 || blue != 3 {
		t.Errorf("one instance has %d of 24 red and %d of 12 blue, want 6 and 3", red, blue)
	}
}

// TestGroupsDecideWhichWorkloadsMove has all red ones on a: what a must give up should be red.
func TestGroupsDecideWhichWorkloadsMove(t *testing.T) {
	in := assigner.Input{Instances: fleet("a", "b", "c"), Owners: map[string]instanceID{}}
	for i := range 12 {
		w := assigner.Workload{Key: fmt.Sprintf("w%02d", i)}
		in.Owners[w.Key] = in.Instances[i%2].ID
		if i == 0 || i == 2 || i == 4 {
			w.Group = "red"
		}
		in.Workloads = append(in.Workloads, w)
	}
	p := mustPlan(t, assigner.Sticky{}, in)
	if len(p.Moves) != 4 {
		t.Fatalf("%d moves, want 4: groups never cost one", len(p.Moves))
	}
	if most := crowd(in, p, "red"); most > 2 {
		t.Errorf("one instance has %d red ones, want at most 2", most)
	}
}

func TestGroupsNeverCostAMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFleet(t, shape{workloads: 80, instances: 8, owners: true})
		plain, err := assigner.Sticky{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range in.Workloads {
			in.Workloads[i].Group = rapid.SampledFrom([]string{"", "red", "blue", "green"}).Draw(t, "group")
		}
		grouped, err := assigner.Sticky{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		if len(plain.Moves) != len(grouped.Moves) {
			t.Fatalf("%d moves with groups, %d without", len(grouped.Moves), len(plain.Moves))
		}
	})
}

func TestRemaindersAreSpreadOverZones(t *testing.T) {
	in := assigner.Input{Workloads: works(9), Instances: fleet("a", "b", "c", "d", "e", "f")}
	for i := range in.Instances {
		in.Instances[i].Zone = []string{"east", "east", "east", "west", "west", "north"}[i]
	}
	p := mustPlan(t, assigner.Sticky{}, in)
	extra := map[string]int{}
	for i, q := range p.Quotas {
		extra[in.Instances[i].Zone] += q.Count - 1
	}
	if extra["east"] != 1 || extra["west"] != 1 || extra["north"] != 1 {
		t.Errorf("the three workloads beyond one each are spread as %v, want one in each zone", extra)
	}
}

// TestCapacityQuotas is worked by hand: Webster gives 10 over capacities 1, 1 and 2 as 3, 2 and 5.
func TestCapacityQuotas(t *testing.T) {
	in := assigner.Input{Workloads: works(10), Instances: fleet("a", "b", "c")}
	in.Instances[2].Capacity = 2
	p := mustPlan(t, assigner.Sticky{}, in)
	for i, want := range []int{3, 2, 5} {
		if q := p.Quotas[i]; q.Count != want || q.Quota != want {
			t.Errorf("%s: %d of %d, want %d", q.Instance, q.Count, q.Quota, want)
		}
	}
}

// TestWorkedJoinAndLeave follows an example by hand: ten workloads as 4, 3, 3; W joins and takes one
// from X and one of the others; then Y drains and loses all of its own, and nobody else's move.
func TestWorkedJoinAndLeave(t *testing.T) {
	in := assigner.Input{Workloads: works(10), Instances: fleet("X", "Y", "Z", "W"), Owners: map[string]instanceID{}}
	for i, id := range []instanceID{"X", "X", "X", "X", "Y", "Y", "Y", "Z", "Z", "Z"} {
		in.Owners[fmt.Sprintf("w%02d", i)] = id
	}
	p := mustPlan(t, assigner.Sticky{}, in)
	if len(p.Moves) != 2 || p.Moves[0].From != "X" || p.Moves[0].To != "W" || p.Moves[1].To != "W" {
		t.Errorf("join: moves %v, want two to W, one of them from X", p.Moves)
	}
	in.Owners = p.Owners()
	in.Instances[1].Phase = assigner.Draining
	had := len(p.For("Y"))
	p = mustPlan(t, assigner.Sticky{}, in)
	if len(p.Moves) != had {
		t.Errorf("leave: %d moves, want the %d of Y", len(p.Moves), had)
	}
}
