package assigner

import (
	"cmp"
	"slices"
	"sort"
)

// stock lists what instances could give away: not what is in its cool-down, on its way, or without
// another instance to go to. The list of an instance is made when it is first asked for.
type stock struct {
	s     *scales
	start []int32 // instance -> where its workloads begin in all
	all   []int32
	lists map[int32][]item
}

// item is a workload that could be given away.
type item struct {
	weight int64
	score  uint64 // pseudo-random for this instance, so that not the same workloads move each time
	w      int32
	class  int32
}

func (s *scales) newStock() *stock {
	st := &stock{s: s, start: make([]int32, len(s.x.inst)+1), all: make([]int32, len(s.place)), lists: map[int32][]item{}}
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

// of returns the list of an instance: by class, then the heaviest first.
func (st *stock) of(i int32) []item {
	if list, ok := st.lists[i]; ok {
		return list
	}
	s, list := st.s, []item{}
	for _, w := range st.all[st.start[i]:st.start[i+1]] {
		c := s.x.classOf[w]
		resting := s.at[w] != none && (s.x.cool[w] || s.x.flight[w] != none)
		if c != none && len(s.x.classes[c].members) > 1 && !resting {
			list = append(list, item{s.x.weight[w], Score(s.x.hash[w], s.x.instHash[i]), w, c})
		}
	}
	slices.SortFunc(list, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.class, b.class), heavier(a, b))
	})
	st.lists[i] = list
	return list
}

// heavier is the order in which workloads are given away.
func heavier(a, b item) int {
	return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.score, b.score), cmp.Compare(a.w, b.w))
}

// byWeight returns the list of an instance, the heaviest first, whatever the class.
func (st *stock) byWeight(i int32) []item {
	list := slices.Clone(st.of(i))
	slices.SortFunc(list, heavier)
	return list
}

// take removes the heaviest workload that fits from one instance to another, or returns none.
func (st *stock) take(from, to int32) int32 {
	list := st.of(from)
	best := -1
	for begin := 0; begin < len(list); {
		class := list[begin].class
		end := begin + sort.Search(len(list)-begin, func(n int) bool { return list[begin+n].class > class })
		if st.s.x.classes[class].set.has(to) {
			at := begin + sort.Search(end-begin, func(n int) bool { return st.s.fits(list[begin+n].weight, from, to) })
			if at < end && (best < 0 || heavier(list[at], list[best]) < 0) {
				best = at
			}
		}
		begin = end
	}
	if best < 0 {
		return none
	}
	w := list[best].w
	st.lists[from] = slices.Delete(list, best, best+1)
	return w
}
