package assigner

import (
	"cmp"
	"slices"
)

// A unit is one workload's place on an instance. Its price, (2s+1)/c for the unit that raises the
// load from s on an instance of capacity c, is what that place adds to the imbalance (the sum of
// load²/capacity): handing out the cheapest units is Webster's apportionment, and with equal
// capacities it is "within one". Prices are compared as fractions, so there is no rounding.
type unit struct {
	num, cap int64 // price num/cap
	kept     bool  // the instance has a workload for this place already: taking it saves a move
	rank     int32
}

// before is a total order: cheaper first, then units that save a move, then the order of dealing.
func (u unit) before(v unit) bool {
	if c := cmp.Compare(u.num*v.cap, v.num*u.cap); c != 0 {
		return c < 0
	}
	if u.kept != v.kept {
		return u.kept
	}
	return u.rank < v.rank
}

// sharing hands out the workloads of one class over the class's instances.
type sharing struct {
	x    *Index
	have []int32 // per instance: how many of the class are there now
	load []int64 // per instance: with what it has been given
	give []int32 // per instance: how many of the class it gets
}

// next is the unit that would be added on i, last the one that was added last.
func (s *sharing) next(i int32) unit { return s.unit(i, s.load[i], s.give[i]) }
func (s *sharing) last(i int32) unit { return s.unit(i, s.load[i]-1, s.give[i]-1) }

func (s *sharing) unit(i int32, load int64, given int32) unit {
	return unit{2*load + 1, s.x.capacity[i], given < s.have[i], s.x.rank[i]}
}

func (s *sharing) add(i, n int32) {
	s.load[i] += int64(n)
	s.give[i] += n
}

// share gives n workloads of a class to its members, on top of the load that they have, so that
// the imbalance is the least possible and, among all ways to reach that, the fewest workloads move:
// the result is the n units that come first in the order of unit.before. load is raised by what is given.
func (x *Index) share(members []int32, have []int32, load []int64, n int) []int32 {
	s := &sharing{x: x, have: have, load: load, give: make([]int32, len(x.inst))}
	rest := s.fillToLevel(members, n)

	// Fewer units than members are left. Each member is expected to get one of them at most...
	order := slices.Clone(members)
	slices.SortFunc(order, func(a, b int32) int {
		if s.next(a).before(s.next(b)) {
			return -1
		}
		return 1
	})
	for _, i := range order[:rest] {
		s.add(i, 1)
	}
	// ... and where that was wrong (capacities differ), exchanging the worst unit given for the
	// best one not given ends at the only set of units without a better one outside.
	for {
		worst, best := none, none
		for _, i := range members {
			if s.give[i] > 0 && (worst == none || s.last(worst).before(s.last(i))) {
				worst = i
			}
			if best == none || s.next(i).before(s.next(best)) {
				best = i
			}
		}
		if worst == none || !s.next(best).before(s.last(worst)) {
			return s.give
		}
		s.add(worst, -1)
		s.add(best, 1)
	}
}

// fillToLevel raises all members below the common water level to its whole part and returns how
// many workloads are left, fewer than there are members.
func (s *sharing) fillToLevel(members []int32, n int) int {
	c := func(i int32) int64 { return s.x.capacity[i] }
	order := slices.Clone(members)
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.load[a]*c(b), s.load[b]*c(a)), cmp.Compare(a, b))
	})
	volume, width := int64(n), int64(0)
	below := 0
	for _, i := range order {
		if width > 0 && s.load[i]*width >= volume*c(i) {
			break // it is above the water that the others would have
		}
		volume += s.load[i]
		width += c(i)
		below++
	}
	for _, i := range order[:below] {
		level := volume * c(i) / width
		n -= int(level - s.load[i])
		s.add(i, int32(level-s.load[i]))
	}
	return n
}
