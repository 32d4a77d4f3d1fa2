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
		items := stock.of(i)
		for _, w := range items {
			moved = s.tryLower(w, i, above, heaps, true) || moved
		}
		for _, w := range slices.Backward(items) {
			moved = s.place[w] == i && s.tryLower(w, i, above, heaps, false) || moved
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
		for s.load[to] < s.level[to] && s.fill(to, donors, stock) {
			moved = true
		}
	}
	return moved
}

// fill gives one workload to an instance, and reports whether there was one. It keeps donors in order.
func (s *scales) fill(to int32, donors []int32, stock *stock) bool {
	for n, from := range donors {
		if s.load[from] <= s.level[from] {
			return false
		}
		for k, w := range stock.of(from) {
			weight := s.x.weight[w]
			if s.load[to]+weight > s.level[to] || s.load[from]-weight < s.low(from) || !s.improves(weight, from, to) || !s.x.classes[s.x.classOf[w]].set.has(to) {
				continue
			}
			stock.lists[from] = slices.Delete(stock.lists[from], k, k+1)
			s.shift(w, to)
			for ; n+1 < len(donors) && s.fuller(donors[n+1], donors[n]) < 0; n++ {
				donors[n], donors[n+1] = donors[n+1], donors[n]
			}
			return true
		}
	}
	return false
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

// stock lists the workloads that an instance could give away. The lists are made when asked for.
type stock struct {
	s     *scales
	start []int32 // instance -> where its workloads begin in all
	all   []int32
	lists map[int32][]int32
}

func (s *scales) newStock() *stock {
	st := &stock{s: s, start: make([]int32, len(s.x.inst)+1), all: make([]int32, len(s.place)), lists: map[int32][]int32{}}
	for _, i := range s.place {
		if i != none {
			st.start[i+1]++
		}
	}
	for i := range s.x.inst {
		st.start[i+1] += st.start[i]
	}
	next := slices.Clone(st.start)
	for w, i := range s.place {
		if i != none {
			st.all[next[i]] = int32(w)
			next[i]++
		}
	}
	return st
}

// of returns what an instance could give away, the heaviest first. Workloads in their cool-down, on
// their way, or without another instance to go to are not among it.
func (st *stock) of(i int32) []int32 {
	if list, ok := st.lists[i]; ok {
		return list
	}
	type item struct {
		weight int64
		score  uint64 // pseudo-random for this instance, so that not the same workloads move each time
		w      int32
	}
	s, items := st.s, []item{}
	for _, w := range st.all[st.start[i]:st.start[i+1]] {
		c := s.x.classOf[w]
		resting := s.at[w] != none && (s.x.cool[w] || s.x.flight[w] != none)
		if c != none && len(s.x.classes[c].members) > 1 && !resting {
			items = append(items, item{s.x.weight[w], Score(s.x.hash[w], s.x.instHash[i]), w})
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.score, b.score), cmp.Compare(a.w, b.w))
	})
	list := make([]int32, len(items))
	for n := range items {
		list[n] = items[n].w
	}
	st.lists[i] = list
	return list
}
