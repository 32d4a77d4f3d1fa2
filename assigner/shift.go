package assigner

import (
	"cmp"
	"slices"
)

func (s *scales) high(i int32) int64 { return s.level[i] + s.level[i]*s.tolerance/100 }
func (s *scales) low(i int32) int64  { return s.level[i] - s.level[i]*s.tolerance/100 }

// lower takes workloads from every instance above the band, the fullest first, and reports
// whether any moved: first the heaviest that end inside the receiver's band, and if that is not
// enough, the lightest that at least lower the higher of the two loads.
func (s *scales) lower() (moved bool) {
	donors, above := s.active(func(i int32) bool { return s.load[i] > s.high(i) })
	if len(donors) == 0 {
		return false
	}
	stock := s.newStock()
	heaps := make([]*loadHeap, len(s.x.classes))
	for _, i := range donors {
		items := stock.byWeight(i)
		for _, it := range items {
			moved = s.tryLower(it.w, i, above, heaps, true) || moved
		}
		for _, it := range slices.Backward(items) {
			moved = s.place[it.w] == i && s.tryLower(it.w, i, above, heaps, false) || moved
		}
	}
	return moved
}

// tryLower moves one workload of a donor to the least loaded instance that is not above the band
// itself, where the donor is still too full and the move helps.
func (s *scales) tryLower(w, from int32, above bitset, heaps []*loadHeap, inside bool) bool {
	weight := s.x.weight[w]
	if s.load[from] <= s.high(from) || s.load[from]-weight < s.low(from) {
		return false
	}
	c := s.x.classOf[w]
	if heaps[c] == nil {
		var receivers []int32
		for _, i := range s.x.classes[c].members {
			if !above.has(i) {
				receivers = append(receivers, i)
			}
		}
		heaps[c] = s.x.newLoadHeap(s.load, receivers)
	}
	to := heaps[c].least()
	if to == none || !s.improves(weight, from, to) || inside && s.load[to]+weight > s.high(to) {
		return false
	}
	s.shift(w, to)
	return true
}

// improves reports whether a move leaves both instances less loaded than the giver was.
func (s *scales) improves(weight int64, from, to int32) bool {
	return (s.load[to]+weight)*s.x.capacity[from] < s.load[from]*s.x.capacity[to]
}

// raise fills every instance below the band up to the level, the emptiest first, with the heaviest
// workloads that fit, each from the fullest instance that can spare one, and reports whether any moved.
func (s *scales) raise() (moved bool) {
	needy, _ := s.active(func(i int32) bool { return s.load[i] < s.low(i) })
	if len(needy) == 0 {
		return false
	}
	donors, _ := s.active(func(i int32) bool { return s.load[i] > s.level[i] })
	stock := s.newStock()
	for _, to := range slices.Backward(needy) {
		moved = s.fill(to, donors, stock) || moved
	}
	return moved
}

// fill gives one instance what it needs, and reports whether it got anything. Loads of donors only
// fall and that of the receiver only rises, so a donor that has nothing fitting is done with.
func (s *scales) fill(to int32, donors []int32, stock *stock) (moved bool) {
	for n := 0; n < len(donors) && s.load[to] < s.level[to]; {
		from := donors[n]
		if s.load[from] <= s.level[from] {
			return moved // and so have all that follow
		}
		w := stock.take(from, to)
		if w == none {
			n++
			continue
		}
		s.shift(w, to)
		moved = true
		for at := n; at+1 < len(donors) && s.fuller(donors[at+1], donors[at]) < 0; at++ {
			donors[at], donors[at+1] = donors[at+1], donors[at]
		}
	}
	return moved
}

// fits reports whether a weight fits below the receiver's level and above the giver's lower band.
// Where a weight fits, every smaller one does.
func (s *scales) fits(weight int64, from, to int32) bool {
	return s.load[to]+weight <= s.level[to] && s.load[from]-weight >= s.low(from) && s.improves(weight, from, to)
}

// active lists the active instances that a test picks, the fullest first, and as a set.
func (s *scales) active(pick func(int32) bool) (list []int32, set bitset) {
	set = newBitset(len(s.x.inst))
	for i := range s.x.inst {
		if s.x.active[i] && pick(int32(i)) {
			list = append(list, int32(i))
			set.add(int32(i))
		}
	}
	slices.SortFunc(list, s.fuller)
	return list, set
}

// fuller orders instances by load for their capacity, the fullest first.
func (s *scales) fuller(a, b int32) int {
	return cmp.Or(cmp.Compare(s.load[b]*s.x.capacity[a], s.load[a]*s.x.capacity[b]), cmp.Compare(s.x.rank[a], s.x.rank[b]))
}
