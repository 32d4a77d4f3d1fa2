package assigner

import (
	"cmp"
	"slices"
)

// candidate is a workload that an instance with too many could give up.
type candidate struct {
	w, from int32
	class   int32
	flying  bool   // it is on the way already: better leave it alone
	crowd   int32  // how many of its group would be on the instance, itself included
	score   uint64 // pseudo-random, the same for everyone and whatever the history
	price   price  // how overloaded the instance is at the moment of giving it up
}

// evict decides which workloads leave the instances that have more than they should, and marks
// them in the result. All others that may stay get their place. It returns how many more should
// leave but for the cool-down and the budget.
func (x *Index) evict(s *spread, at, place []int32, groups groupCounts) (deferred int) {
	leaving, deferred := x.leaving(s, at, groups)
	if most := x.policy.Budget; most > 0 && len(leaving) > most {
		slices.SortStableFunc(leaving, func(a, b candidate) int { return b.price.compare(a.price) })
		deferred += len(leaving) - most
		leaving = leaving[:most]
	}
	for w := range at {
		if slot := x.classOf[w]; place[w] == none && slot != none && len(x.classes[slot].members) > 1 {
			place[w] = at[w]
		}
	}
	for _, c := range leaving {
		place[c.w] = none
		s.have[c.class][c.from]--
		groups.add(x.group[c.w], c.from, -1)
	}
	return deferred
}

// leaving picks, for each class and instance with a surplus, who goes: first those of a group that
// the instance has most of, then by score.
func (x *Index) leaving(s *spread, at []int32, groups groupCounts) (chosen []candidate, deferred int) {
	m := len(x.inst)
	slot := s.slots()
	lists := make([][]candidate, len(s.classes)*m)
	for w, i := range at {
		if i == none || !x.active[i] || slot[x.classOf[w]] == none {
			continue
		}
		k := slot[x.classOf[w]]
		if s.have[k][i] <= s.want[k][i] || x.cool[w] {
			continue
		}
		lists[int(k)*m+int(i)] = append(lists[int(k)*m+int(i)], candidate{
			w: int32(w), from: i, class: k,
			flying: x.flight[w] != none && x.instOf[x.flight[w]] == i && x.owner[w] != x.flight[w],
			score:  Score(x.hash[w], x.instHash[i]),
		})
	}
	for k := range s.classes {
		for _, i := range s.members(int32(k)) {
			surplus := int(s.have[k][i] - s.want[k][i])
			if surplus <= 0 {
				continue
			}
			list := x.rankCandidates(lists[k*m+int(i)], groups)
			take := min(surplus, len(list))
			deferred += surplus - take
			for n := range take {
				list[n].price = price{2*(s.load[i]+int64(surplus-n)) - 1, x.capacity[i]}
			}
			chosen = append(chosen, list[:take]...)
		}
	}
	return chosen, deferred
}

// rankCandidates orders the candidates of one instance. A workload's crowd is the size that its
// group would have when it is its turn, so taking the largest crowds first takes turns among groups.
func (x *Index) rankCandidates(list []candidate, groups groupCounts) []candidate {
	byScore := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(bit(a.flying), bit(b.flying)), cmp.Compare(a.score, b.score), cmp.Compare(a.w, b.w))
	}
	slices.SortFunc(list, byScore)
	if groups == nil {
		return list
	}
	taken := map[int32]int32{}
	for n := range list {
		g := x.group[list[n].w]
		list[n].crowd = 1
		if g != none {
			list[n].crowd = groups.count(g, list[n].from) - taken[g]
			taken[g]++
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(bit(a.flying), bit(b.flying)), cmp.Compare(b.crowd, a.crowd))
	})
	return list
}

// groupCounts says how many workloads of a group are on an instance. It is nil where there are no groups.
type groupCounts map[[2]int32]int32

func (x *Index) groupCounts(at []int32) groupCounts {
	if x.groups == 0 {
		return nil
	}
	counts := groupCounts{}
	for w, i := range at {
		counts.add(x.group[w], i, 1)
	}
	return counts
}

func (c groupCounts) add(group, i, n int32) {
	if c != nil && group != none && i != none {
		c[[2]int32{group, i}] += n
	}
}

func (c groupCounts) count(group, i int32) int32 {
	if c == nil || group == none {
		return 0
	}
	return c[[2]int32{group, i}]
}
