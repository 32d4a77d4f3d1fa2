package assigner_test

import (
	"fmt"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// Six workloads on two instances; a third one joins and takes one from each, and no more.
func Example() {
	joined := func(second int64) time.Time { return time.Unix(second, 0) }
	in := assigner.Input{
		Workloads: []assigner.Workload{{Key: "berlin"}, {Key: "lima"}, {Key: "oslo"}, {Key: "paris"}, {Key: "quito"}, {Key: "rome"}},
		Instances: []assigner.Instance{{ID: "a", JoinedAt: joined(1)}, {ID: "b", JoinedAt: joined(2)}},
	}
	plan, err := assigner.Sticky{}.Plan(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a:", len(plan.For("a")), "b:", len(plan.For("b")))

	in.Owners = plan.Owners()
	in.Instances = append(in.Instances, assigner.Instance{ID: "c", JoinedAt: joined(3)})
	plan, err = assigner.Sticky{}.Plan(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, move := range plan.Moves {
		fmt.Println(move.From, "->", move.To, move.Reason)
	}
	// Unordered output:
	// a: 3 b: 3
	// a -> c level
	// b -> c level
}

// A rolling update: the workloads of the draining instance go to the new version, and the healthy
// ones stay although the new instance has none yet.
func ExampleSticky_rollout() {
	in := assigner.Input{
		Workloads: []assigner.Workload{{Key: "k1"}, {Key: "k2"}, {Key: "k3"}, {Key: "k4"}},
		Instances: []assigner.Instance{
			{ID: "old-1", Version: "1", JoinedAt: time.Unix(1, 0), Phase: assigner.Draining},
			{ID: "old-2", Version: "1", JoinedAt: time.Unix(2, 0)},
			{ID: "new-1", Version: "2", JoinedAt: time.Unix(3, 0)},
		},
		Owners: map[string]instance.ID{"k1": "old-1", "k2": "old-1", "k3": "old-2", "k4": "old-2"},
	}
	plan, err := assigner.Sticky{}.Plan(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, move := range plan.Moves {
		fmt.Println(move.Key, move.From, "->", move.To, move.Reason)
	}
	fmt.Println(plan.Frozen)
	// Output:
	// k1 old-1 -> new-1 rollout
	// k2 old-1 -> new-1 rollout
	// a rolling update is under way: instances of several versions are present
}

func ExampleWeighted() {
	plan, err := assigner.Weighted{Tolerance: 5}.Plan(assigner.Input{
		Workloads: []assigner.Workload{{Key: "large", Weight: 6}, {Key: "small-1", Weight: 2}, {Key: "small-2", Weight: 2}, {Key: "small-3", Weight: 2}},
		Instances: []assigner.Instance{{ID: "a"}, {ID: "b"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range plan.Quotas {
		fmt.Println(q.Instance, "has", q.Count, "of weight", q.Weight)
	}
	// Output:
	// a has 1 of weight 6
	// b has 3 of weight 6
}

func ExampleRendezvous() {
	fleet := []assigner.Instance{{ID: "a"}, {ID: "b", Capacity: 3}}
	in := assigner.Input{Instances: fleet}
	for i := range 1000 {
		in.Workloads = append(in.Workloads, assigner.Workload{Key: fmt.Sprintf("stream-%d", i)})
	}
	plan, err := assigner.Rendezvous{}.Plan(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range plan.Quotas {
		fmt.Println(q.Instance, q.Count)
	}
	// Output:
	// a 267
	// b 733
}

func ExamplePartition() {
	partitions := assigner.Partition{Count: 16}
	fmt.Println(partitions.Of("tenant-7"), partitions.Of("tenant-8"))
	// Output:
	// 0 12
}

func ExampleBalanced() {
	plan, err := assigner.Balanced{}.Plan(assigner.Input{
		Workloads: []assigner.Workload{{Key: "c"}, {Key: "a"}, {Key: "b"}},
		Instances: []assigner.Instance{{ID: "late", JoinedAt: time.Unix(2, 0)}, {ID: "early", JoinedAt: time.Unix(1, 0)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.For("early"), plan.For("late"))
	// Output: [a b] [c]
}

func ExamplePrimary() {
	plan, err := assigner.Primary{}.Plan(assigner.Input{
		Workloads: []assigner.Workload{{Key: "cleanup"}, {Key: "report"}},
		Instances: []assigner.Instance{{ID: "late", JoinedAt: time.Unix(2, 0)}, {ID: "early", JoinedAt: time.Unix(1, 0)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.For("early"), plan.For("late"))
	// Output: [cleanup report] []
}

// A planner of a large fleet keeps an index and tells it what changed.
func ExampleIndex() {
	index, err := assigner.NewIndex(assigner.Input{
		Workloads: []assigner.Workload{{Key: "k1"}, {Key: "k2"}, {Key: "k3"}},
		Instances: []assigner.Instance{{ID: "a"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, fleet := range [][]assigner.Instance{{{ID: "a"}}, {{ID: "a"}, {ID: "b"}}, {{ID: "b"}}} {
		if err := index.SetInstances(fleet); err != nil {
			fmt.Println(err)
			return
		}
		plan, err := assigner.Sticky{}.PlanIndex(index)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(plan.Moves), "moves")
		index.Adopt(plan)
	}
	// Output:
	// 3 moves
	// 1 moves
	// 2 moves
}

func ExampleExplain() {
	why, err := assigner.Explain(assigner.Sticky{}, assigner.Input{
		Workloads: []assigner.Workload{{Key: "train", Requires: "gpu"}},
		Instances: []assigner.Instance{{ID: "a"}, {ID: "b", Labels: map[string]string{"gpu": "a100"}}},
	}, "train")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(why.Instance+":", why.Rule)
	for _, other := range why.Excluded {
		fmt.Println(other.Instance+":", other.Why)
	}
	// Output:
	// b: nobody has it; workloads are spread evenly, with the fewest moves
	// a: its labels do not satisfy gpu
}

func ExampleWhatIf() {
	in := assigner.Input{Instances: []assigner.Instance{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	for i := range 12 {
		in.Workloads = append(in.Workloads, assigner.Workload{Key: fmt.Sprintf("k%02d", i)})
	}
	for _, change := range []assigner.Change{{Drain: []instance.ID{"a"}}, {Add: 3}} {
		outlook, err := assigner.WhatIf(assigner.Sticky{}, in, change)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(outlook.Then.Moves), "moves, then at most", outlook.Then.Quotas[1].Count, "each")
	}
	// Output:
	// 4 moves, then at most 6 each
	// 6 moves, then at most 2 each
}

// An assigner of your own chooses, and Assemble makes the plan of it.
func ExampleFunc() {
	byLength := assigner.Func(func(in assigner.Input) (assigner.Plan, error) {
		choice := map[string]instance.ID{}
		for _, w := range in.Workloads {
			choice[w.Key] = in.Instances[len(w.Key)%len(in.Instances)].ID
		}
		return assigner.Assemble(in, choice)
	})
	in := assigner.Input{
		Workloads: []assigner.Workload{{Key: "odd"}, {Key: "even"}},
		Instances: []assigner.Instance{{ID: "a"}, {ID: "b"}},
	}
	plan, err := byLength.Plan(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.For("a"), plan.For("b"), assigner.Verify(in, plan))
	// Output: [even] [odd] <nil>
}

func ExampleSelector() {
	in := assigner.Instance{ID: "a", Zone: "west", Labels: map[string]string{"disk": "ssd"}}
	for _, s := range []assigner.Selector{"disk in (ssd,nvme)", "!spot,tenure/zone=west", "gpu"} {
		fmt.Println(s.Matches(in), s)
	}
	// Output:
	// true disk in (ssd,nvme)
	// true !spot,tenure/zone=west
	// false gpu
}
