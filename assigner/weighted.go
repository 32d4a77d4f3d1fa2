package assigner

import (
	"fmt"
	"slices"

	"github.com/tenure-go/tenure/internal/fault"
)

// Weighted spreads the weights of the workloads, rather than their number, by capacity, and is
// sticky. The zero value works.
//
// It keeps every instance inside a band around the level and leaves healthy workloads alone while
// they are inside. The level is where the load would stand if it were water: a workload that is
// heavier than that takes an instance to itself, and the level is that of the others. Above the
// band it moves the heaviest workloads that fit elsewhere; below it (a newcomer) it takes the
// heaviest that fit from the most loaded. It never makes a move that would not leave both
// instances less loaded than the fuller one was, so it ends, and a second plan moves nothing.
//
// No plan can promise less than level + heaviest workload, and this one keeps that: with equal
// capacities and no restrictions, no instance has more than that or the upper end of the band,
// whichever is higher, once levelling is not restrained by the policy.
//
// Rolling updates, Freeze, Hold, Budget and CoolDown work as with Sticky, and it needs one view of
// the owners in the same way. Groups are not looked at.
type Weighted struct {
	// Tolerance is the half width of the band in percent of the level, from 1 to 100; zero means 10.
	Tolerance int
}

const defaultTolerance = 10

// Plan implements Assigner.
func (a Weighted) Plan(in Input) (Plan, error) { return planInput(a, in) }

// HeedsOwners implements Indexed: they do.
func (Weighted) HeedsOwners() bool { return true }

// PlanIndex implements Indexed.
func (a Weighted) PlanIndex(x *Index) (Plan, error) {
	tolerance := a.Tolerance
	switch {
	case tolerance == 0:
		tolerance = defaultTolerance
	case tolerance < 0 || tolerance > 100:
		return Plan{}, fault.Invalid("Weighted.Tolerance", tolerance, fmt.Sprintf("must be between 1 and 100 percent, or 0 for %d", defaultTolerance))
	}
	if p, held := x.hold(); held {
		return p, nil
	}
	at := x.positions()
	if why := x.frozen(); why != "" {
		return x.finish(at, x.placeOnly(at, why, true)), nil
	}
	s := x.newScales(at, int64(tolerance))
	s.placePool()
	for s.lower() || s.raise() {
		// Each round of moves may open the way for others; the last one finds none.
	}
	deferred := s.keepBudget()
	return x.finish(at, outcome{place: s.place, deferred: deferred}), nil
}

// scales is a plan by weight in the making.
type scales struct {
	x         *Index
	at        []int32
	place     []int32
	load      []int64 // per instance
	level     []int64 // per active instance: its part at the common level
	tolerance int64
	moved     []shift // levelling, in order
}

// shift is one step of levelling.
type shift struct{ w, from, to int32 }

// newScales keeps what may stay, puts what has no choice in its place and finds the level.
func (x *Index) newScales(at []int32, tolerance int64) *scales {
	s := &scales{x: x, at: at, place: slices.Clone(at), load: make([]int64, len(x.inst)), tolerance: tolerance}
	for w, i := range at {
		if c := x.classOf[w]; i == none && c != none && len(x.classes[c].members) == 1 {
			s.place[w] = x.classes[c].members[0]
		}
		if i := s.place[w]; i != none {
			s.load[i] += x.weight[w]
		}
	}
	s.findLevel()
	return s
}

// placePool gives what has no place to the least loaded, the heaviest first.
func (s *scales) placePool() {
	var pool []int32
	for w, i := range s.place {
		if i == none && s.x.classOf[w] != none {
			pool = append(pool, int32(w))
		}
	}
	s.x.sortUrgent(pool, true)
	heaps := make([]*loadHeap, len(s.x.classes))
	for _, w := range pool {
		c := s.x.classOf[w]
		if heaps[c] == nil {
			heaps[c] = s.x.newLoadHeap(s.load, s.x.classes[c].members)
		}
		s.put(w, heaps[c].least())
	}
}

func (s *scales) put(w, i int32) {
	if from := s.place[w]; from != none {
		s.load[from] -= s.x.weight[w]
	}
	s.place[w] = i
	s.load[i] += s.x.weight[w]
}

// shift moves a placed workload.
func (s *scales) shift(w, to int32) {
	s.moved = append(s.moved, shift{w, s.place[w], to})
	s.put(w, to)
}

// keepBudget takes back the last steps of levelling until no more healthy workloads have moved
// than the policy allows, and returns how many were left out. Any beginning of the steps is a
// sound plan.
func (s *scales) keepBudget() (deferred int) {
	changed := func(w int32) int {
		if s.at[w] != none && s.place[w] != s.at[w] {
			return 1
		}
		return 0
	}
	count, most := 0, s.x.policy.Budget
	for w := range s.place {
		count += changed(int32(w))
	}
	before := count
	for most > 0 && count > most {
		last := s.moved[len(s.moved)-1]
		s.moved = s.moved[:len(s.moved)-1]
		count -= changed(last.w)
		s.put(last.w, last.from)
		count += changed(last.w)
	}
	return before - count
}
