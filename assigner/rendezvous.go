package assigner

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/tenure-go/tenure/internal/fault"
)

// Rendezvous gives each workload to the instance that scores highest for it (highest random weight
// hashing), in proportion to capacity. The zero value works.
//
// It is a function of the instances alone and needs no owners, so everyone can plan for himself,
// and its moves are close to the fewest: a join takes the newcomer's share from everyone, a leave
// spreads the leaver's. The price is balance: the load varies like random throws, by about one
// over the square root of the mean. A rolling update under fresh IDs moves each workload about
// twice. Prefer Sticky where one planner plans for the fleet.
//
// A first plan costs instances times workloads; planning from an Index again costs the workloads
// times the change. Weight and Group are not looked at.
type Rendezvous struct {
	// CapPercent limits what an instance gets to this percentage of its even share, rounded up; at
	// least 100, zero means no limit. What finds its best instance full goes to its next best, and
	// an instance keeps those that score highest. A cap near 100 costs moves, which are measured in
	// docs/assignment.md. Workloads whose labels leave them only full instances go to the best of those.
	CapPercent int
}

// Plan implements Assigner.
func (a Rendezvous) Plan(in Input) (Plan, error) { return planInput(a, in) }

// HeedsOwners implements Indexed: they do not.
func (Rendezvous) HeedsOwners() bool { return false }

// PlanIndex implements Indexed.
func (a Rendezvous) PlanIndex(x *Index) (Plan, error) {
	if a.CapPercent != 0 && (a.CapPercent < 100 || a.CapPercent > 10_000) {
		return Plan{}, fault.Invalid("Rendezvous.CapPercent", a.CapPercent, fmt.Sprintf("must be between 100 and %d, or 0 for no limit", 10_000))
	}
	if p, held := x.hold(); held {
		return p, nil
	}
	place := x.bestOfAll()
	if a.CapPercent != 0 {
		quota := x.caps(a.CapPercent)
		x.spill(place, quota)
		return x.finish(x.positions(), outcome{place: place, quota: quota}), nil
	}
	return x.finish(x.positions(), outcome{place: place}), nil
}

// bid is an instance's claim to a workload.
type bid struct {
	i        int32
	score    uint64
	distance uint64 // of the score; what counts is distance/capacity
	capacity uint64
}

func (x *Index) bid(w, i int32, table *[1<<logSteps + 1]uint64) bid {
	score := Score(x.hash[w], x.instHash[i])
	return bid{i, score, distance(score, table), uint64(x.capacity[i])}
}

// compare puts the better bid first: the smaller distance for its capacity, then the higher score,
// then the smaller ID. It is a total order over the bids for one workload.
func (b bid) compare(c bid) int {
	if b.capacity == c.capacity {
		return cmp.Or(cmp.Compare(c.score, b.score), cmp.Compare(b.i, c.i))
	}
	bHi, bLo := bits.Mul64(b.distance, c.capacity)
	cHi, cLo := bits.Mul64(c.distance, b.capacity)
	return cmp.Or(cmp.Compare(bHi, cHi), cmp.Compare(bLo, cLo), cmp.Compare(c.score, b.score), cmp.Compare(b.i, c.i))
}

// best returns the best bid for a workload among some instances that come in runs of equal
// capacity: inside a run the scores alone decide, which spares nearly all logarithms.
func (x *Index) best(w int32, runs [][]int32, table *[1<<logSteps + 1]uint64) bid {
	hash := x.hash[w]
	var best bid
	for n, run := range runs {
		first, top := run[0], Score(hash, x.instHash[run[0]])
		for _, i := range run[1:] {
			if s := Score(hash, x.instHash[i]); s > top {
				first, top = i, s
			}
		}
		b := bid{first, top, 0, uint64(x.capacity[first])}
		if len(runs) > 1 {
			b.distance = distance(top, table)
		}
		if n == 0 || b.compare(best) < 0 {
			best = b
		}
	}
	return best
}

// runs groups the members of a class by capacity, each run in the order of IDs.
func (x *Index) runs(members []int32) [][]int32 {
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.capacity[a], x.capacity[b]), cmp.Compare(a, b))
	})
	var runs [][]int32
	for start, n := 0, 1; n <= len(sorted); n++ {
		if n == len(sorted) || x.capacity[sorted[n]] != x.capacity[sorted[start]] {
			runs = append(runs, sorted[start:n])
			start = n
		}
	}
	return runs
}
