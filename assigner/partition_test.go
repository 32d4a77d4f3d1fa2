package assigner_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenure-go/tenure/assigner"
)

func TestPartitionProperties(t *testing.T) {
	everything := shape{workloads: 40, instances: 8, owners: true, capacities: true, labels: true, phases: true}
	for _, count := range []int{0, 7} {
		t.Run(fmt.Sprint(count), func(t *testing.T) { checkProperties(t, assigner.Partition{Count: count}, everything) })
	}
}

func TestPartitionsStayTogetherAndMoveTheFewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := assigner.Partition{Count: rapid.IntRange(1, 50).Draw(t, "partitions")}
		in := streams(rapid.IntRange(0, 300).Draw(t, "workloads"), rapid.IntRange(1, 8).Draw(t, "instances"))
		p, err := a.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		before := partitionsOf(t, a, p)
		in.Instances = append(in.Instances, assigner.Instance{ID: "joiner"})
		in.Owners = p.Owners()
		p, err = a.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		after := partitionsOf(t, a, p)
		units := assigner.Input{Instances: in.Instances, Owners: map[string]instanceID{}}
		for part, id := range before {
			key := fmt.Sprint(part)
			units.Workloads = append(units.Workloads, assigner.Workload{Key: key})
			units.Owners[key] = id
		}
		moved := 0
		for part, id := range after {
			if before[part] != id {
				moved++
			}
		}
		if want := fewest(units); moved != want {
			t.Fatalf("%d partitions moved, the bound is %d", moved, want)
		}
	})
}

func partitionsOf(t *rapid.T, a assigner.Partition, p assigner.Plan) map[int]instanceID {
	owner := map[int]instanceID{}
	for _, target := range p.Targets {
		part := a.Of(target.Key)
		if was, ok := owner[part]; ok && was != target.Instance {
			t.Fatalf("partition %d is on %s and on %s", part, was, target.Instance)
		}
		owner[part] = target.Instance
	}
	return owner
}

func TestPartitionNewWorkloadStartsWhereItsPartitionIs(t *testing.T) {
	a := assigner.Partition{Count: 10}
	in := streams(40, 3)
	p := mustPlan(t, a, in)
	in.Owners = p.Owners()
	in.Workloads = append(in.Workloads, assigner.Workload{Key: "new"})
	p = mustPlan(t, a, in)
	if len(p.Moves) != 1 || p.Moves[0].Key != "new" {
		t.Fatalf("moves %v, want the new workload alone", p.Moves)
	}
	for _, target := range p.Targets {
		if a.Of(target.Key) == a.Of("new") && target.Instance != p.Moves[0].To {
			t.Errorf("%s of the same partition is on %s, the new one on %s", target.Key, target.Instance, p.Moves[0].To)
		}
	}
}

func TestPartitionFreezeLeavesStraysAlone(t *testing.T) {
	a := assigner.Partition{Count: 1}
	in := assigner.Input{Workloads: works(3), Instances: fleet("a", "b"), Owners: map[string]instanceID{"w00": "a", "w01": "a", "w02": "b"}}
	if p := mustPlan(t, a, in); len(p.Moves) != 1 || p.Moves[0].Key != "w02" {
		t.Errorf("moves %v, want the stray to join its partition", p.Moves)
	}
	in.Policy.Freeze = "settling"
	if p := mustPlan(t, a, in); len(p.Moves) != 0 {
		t.Errorf("moves %v while frozen", p.Moves)
	}
}

func TestPartitionRefusesASenselessCount(t *testing.T) {
	for _, count := range []int{-1, 1_000_001} {
		_, err := assigner.Partition{Count: count}.Plan(assigner.Input{})
		wantInvalid(t, err, "Partition.Count")
	}
}
