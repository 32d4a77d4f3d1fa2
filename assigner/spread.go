package assigner

import (
	"cmp"
	"slices"
)

// spread is the problem of levelling, in numbers alone: how many workloads of which class each
// instance should have. Which ones these are is decided afterwards.
type spread struct {
	x       *Index
	classes []int32   // the classes that have workloads and a choice of instances
	n       []int     // how many workloads each has
	have    [][]int32 // [class][instance] how many are there now
	want    [][]int32 // [class][instance] how many should be
	load    []int64   // [instance] with everything that it should have, fixed workloads included
}

// newSpread counts what can be levelled. Workloads with one eligible instance, and those on a held
// instance, have no choice: place holds where they are, and they count as load.
func (x *Index) newSpread(at, place []int32) *spread {
	s := &spread{x: x, load: make([]int64, len(x.inst))}
	slot := s.slots()
	for w, c := range x.classOf {
		switch {
		case at[w] != none && x.inst[at[w]].Phase != Active:
			place[w] = at[w]
		case c == none:
		case len(x.classes[c].members) == 1:
			place[w] = x.classes[c].members[0]
		default:
			if slot[c] == none {
				slot[c] = int32(len(s.classes))
				s.classes = append(s.classes, c)
				s.n = append(s.n, 0)
				s.have = append(s.have, make([]int32, len(x.inst)))
			}
			s.n[slot[c]]++
			if at[w] != none {
				s.have[slot[c]][at[w]]++
			}
			continue
		}
		if place[w] != none {
			s.load[place[w]]++
		}
	}
	s.want = make([][]int32, len(s.classes))
	return s
}

// slots maps a class to its number in s, or none.
func (s *spread) slots() []int32 {
	slot := make([]int32, len(s.x.classes))
	for c := range slot {
		slot[c] = none
	}
	for k, c := range s.classes {
		slot[c] = int32(k)
	}
	return slot
}

// solve finds the numbers with the least imbalance and, among those, the fewest moves. One class
// is solved by share alone. With several, what has a place keeps it and the rest is shared out on
// top, class after class, those with the fewest instances first. That is a beginning and, where
// classes overlap, no more than that: rebalance and settle improve it until nothing better exists.
func (s *spread) solve() {
	if len(s.classes) == 1 {
		s.want[0] = s.x.share(s.members(0), s.have[0], s.load, s.n[0])
		return
	}
	order := identity(len(s.classes))
	slices.SortFunc(order, func(a, b int32) int {
		size := func(k int32) int { return len(s.members(k)) }
		return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(a, b))
	})
	missing := slices.Clone(s.n)
	for k := range s.classes {
		for _, i := range s.members(int32(k)) {
			s.load[i] += int64(s.have[k][i])
			missing[k] -= int(s.have[k][i])
		}
	}
	nothing := make([]int32, len(s.x.inst))
	for _, k := range order {
		s.want[k] = s.x.share(s.members(k), nothing, s.load, missing[k])
		for _, i := range s.members(k) {
			s.want[k][i] += s.have[k][i]
		}
	}
	s.rebalance()
	s.settle()
}

func (s *spread) members(k int32) []int32 { return s.x.classes[s.classes[k]].members }

// removal and addition are the prices of an instance's last unit and of its next one.
func (s *spread) removal(i int32) price  { return price{2*s.load[i] - 1, s.x.capacity[i]} }
func (s *spread) addition(i int32) price { return price{2*s.load[i] + 1, s.x.capacity[i]} }

// price is a fraction.
type price struct{ num, den int64 }

func (p price) compare(q price) int { return cmp.Compare(p.num*q.den, q.num*p.den) }
