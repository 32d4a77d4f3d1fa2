package assigner_test

import (
	"math/big"
	"slices"

	"github.com/tenure-go/tenure/assigner"
)

// The oracle knows the rules of placing from the documentation alone: it shares no code with the
// package and tries every plan there is.

func mayGet(in assigner.Input, w assigner.Workload) []int {
	var active, held []int
	for i, m := range in.Instances {
		switch {
		case m.Phase == assigner.Draining || !w.Requires.Matches(m):
		case m.Phase == assigner.Active:
			if m.ID == w.Pin {
				return []int{i}
			}
			active = append(active, i)
		default:
			held = append(held, i)
		}
	}
	if len(active) > 0 {
		return active
	}
	return held
}

// counted returns where a workload counts now, or -1.
func counted(in assigner.Input, w assigner.Workload) int {
	for _, id := range []instanceID{in.InFlight[w.Key], in.Owners[w.Key]} {
		for i, m := range in.Instances {
			if m.ID != id || m.Phase == assigner.Draining || !w.Requires.Matches(m) {
				continue
			}
			if m.Phase != assigner.Active {
				return i // a held instance keeps what it has
			}
			if slices.Contains(mayGet(in, w), i) {
				return i
			}
		}
	}
	return -1
}

// cost is what a plan is judged by: imbalance first, then moves.
type cost struct {
	imbalance *big.Rat
	moves     int
}

func (c cost) less(o cost) bool {
	if d := c.imbalance.Cmp(o.imbalance); d != 0 {
		return d < 0
	}
	return c.moves < o.moves
}

func costOf(in assigner.Input, place []int) cost {
	load := make([]int64, len(in.Instances))
	c := cost{imbalance: new(big.Rat)}
	for w, i := range place {
		if i < 0 {
			continue
		}
		load[i]++
		if i != counted(in, in.Workloads[w]) {
			c.moves++
		}
	}
	for i, l := range load {
		c.imbalance.Add(c.imbalance, big.NewRat(l*l, int64(max(1, in.Instances[i].Capacity))))
	}
	return c
}

// bruteForce tries every plan and returns the cost of the best.
func bruteForce(in assigner.Input) cost {
	choices := make([][]int, len(in.Workloads))
	for w, work := range in.Workloads {
		choices[w] = mayGet(in, work)
		if at := counted(in, work); at >= 0 && in.Instances[at].Phase != assigner.Active {
			choices[w] = []int{at}
		}
		if len(choices[w]) == 0 {
			choices[w] = []int{-1}
		}
	}
	var best cost
	place := make([]int, len(choices))
	var try func(w int)
	try = func(w int) {
		if w == len(choices) {
			if c := costOf(in, place); best.imbalance == nil || c.less(best) {
				best = c
			}
			return
		}
		for _, i := range choices[w] {
			place[w] = i
			try(w + 1)
		}
	}
	try(0)
	return best
}

func placesOf(in assigner.Input, p assigner.Plan) []int {
	place := make([]int, len(in.Workloads))
	for w, work := range in.Workloads {
		place[w] = -1
		id, ok := p.Target(work.Key)
		for i, m := range in.Instances {
			if ok && m.ID == id {
				place[w] = i
			}
		}
	}
	return place
}

// fewest is the theoretical least number of moves to any plan within one, for equal capacities and
// no restrictions: the orphans, and what each instance has above its quota, where the larger
// quotas are given to those who have most.
func fewest(in assigner.Input) int {
	count := map[instanceID]int{}
	orphans := 0
	for _, w := range in.Workloads {
		if at := counted(in, w); at >= 0 {
			count[in.Instances[at].ID]++
		} else {
			orphans++
		}
	}
	var have []int
	for _, m := range in.Instances {
		if m.Phase == assigner.Active {
			have = append(have, count[m.ID])
		}
	}
	n, m := len(in.Workloads), len(have)
	if m == 0 {
		return 0
	}
	moves, extra := orphans, n%m
	sortDescending(have)
	for k, c := range have {
		quota := n / m
		if k < extra {
			quota++
		}
		moves += max(0, c-quota)
	}
	return moves
}

func sortDescending(list []int) {
	for a := range list {
		for b := a; b > 0 && list[b] > list[b-1]; b-- {
			list[b], list[b-1] = list[b-1], list[b]
		}
	}
}
