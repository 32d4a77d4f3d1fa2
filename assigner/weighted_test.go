package assigner_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenure-go/tenure/assigner"
)

func TestWeightedProperties(t *testing.T) {
	checkProperties(t, assigner.Weighted{}, shape{workloads: 40, instances: 8, owners: true, capacities: true, labels: true, phases: true})
}

// waterLevel is the level of equal instances, found the slow way: while the heaviest workload is
// above the mean of what is left, it takes an instance to itself.
func waterLevel(weights []int, instances int) float64 {
	left := append([]int(nil), weights...)
	sortDescending(left)
	sum := 0
	for _, w := range left {
		sum += w
	}
	for len(left) > 0 && instances > 1 && left[0]*instances > sum {
		sum -= left[0]
		left = left[1:]
		instances--
	}
	return float64(sum) / float64(instances)
}

func TestWeightedIsWithinTheHeaviestOfTheLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFleet(t, shape{workloads: 120, instances: 10, owners: true})
		if rapid.Bool().Draw(t, "a giant") && len(in.Workloads) > 0 {
			in.Workloads[0].Weight = 500
		}
		p, err := assigner.Weighted{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		var weights []int
		heaviest := 0
		for _, w := range in.Workloads {
			weights = append(weights, max(1, w.Weight))
			heaviest = max(heaviest, w.Weight, 1)
		}
		level := waterLevel(weights, len(in.Instances))
		most := max(level+float64(heaviest), level*1.1)
		for _, q := range p.Quotas {
			if float64(q.Weight) > most {
				t.Fatalf("%s carries %d, the level is %.1f and the heaviest workload %d", q.Instance, q.Weight, level, heaviest)
			}
		}
	})
}

func TestWeightedNeverRaisesTheHighestLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFleet(t, shape{workloads: 60, instances: 6, capacities: true})
		capacity := map[instanceID]float64{}
		for _, m := range in.Instances {
			capacity[m.ID] = float64(max(1, m.Capacity))
		}
		in.Owners = map[string]instanceID{}
		load := map[instanceID]float64{}
		before := 0.0
		for _, w := range in.Workloads {
			id := in.Instances[rapid.IntRange(0, len(in.Instances)-1).Draw(t, "owner")].ID
			in.Owners[w.Key] = id
			load[id] += float64(max(1, w.Weight)) / capacity[id]
			before = max(before, load[id])
		}
		p, err := assigner.Weighted{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		got := map[instanceID]bool{}
		for _, m := range p.Moves {
			got[m.To] = true
		}
		for _, q := range p.Quotas {
			if after := float64(q.Weight) / capacity[q.Instance]; got[q.Instance] && after >= before {
				t.Fatalf("%s got something and has %.2f per capacity now, the most was %.2f", q.Instance, after, before)
			}
		}
	})
}

func TestWeightedGivesANewcomerItsShareBesideAGiant(t *testing.T) {
	in := assigner.Input{Instances: fleet("a", "b", "c"), Owners: map[string]instanceID{"giant": "a"}}
	in.Workloads = append(in.Workloads, assigner.Workload{Key: "giant", Weight: 1000})
	for i := range 40 {
		key := fmt.Sprintf("small%02d", i)
		in.Workloads = append(in.Workloads, assigner.Workload{Key: key, Weight: 5})
		in.Owners[key] = "b"
	}
	p := mustPlan(t, assigner.Weighted{}, in)
	for _, q := range p.Quotas {
		if want := map[instanceID]int64{"a": 1000, "b": 100, "c": 100}[q.Instance]; q.Weight < want*9/10 || q.Weight > want*11/10 {
			t.Errorf("%s carries %d, want about %d", q.Instance, q.Weight, want)
		}
	}
	for _, m := range p.Moves {
		if m.From != "b" || m.To != "c" || m.Reason != assigner.Level {
			t.Errorf("move %+v, want only those that level b and c", m)
		}
	}
}

func TestWeightedLeavesTheBandAlone(t *testing.T) {
	in := assigner.Input{Instances: fleet("a", "b"), Owners: map[string]instanceID{}}
	for i := range 39 {
		key := fmt.Sprintf("w%02d", i)
		in.Workloads = append(in.Workloads, assigner.Workload{Key: key})
		in.Owners[key] = in.Instances[i%2].ID
	}
	in.Owners["w01"] = "a" // 21 and 18, the level is 19
	if p := mustPlan(t, assigner.Weighted{Tolerance: 15}, in); len(p.Moves) != 0 {
		t.Errorf("moves %v inside the band", p.Moves)
	}
	if p := mustPlan(t, assigner.Weighted{Tolerance: 1}, in); len(p.Moves) != 1 {
		t.Errorf("%d moves with a narrow band, want 1", len(p.Moves))
	}
	_, err := assigner.Weighted{Tolerance: 101}.Plan(in)
	wantInvalid(t, err, "Weighted.Tolerance")
}
