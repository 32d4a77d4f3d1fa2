package assigner

import (
	"cmp"
	"slices"
)

// findLevel computes where the load of each active instance would stand if weights were water. A
// workload that is heavier than its instance's part, or pinned workloads that are so together,
// stand out like rocks: they and their instance are set aside, and the rest is levelled without
// them. Taking the plain mean instead would leave nobody above the mean in a fleet with one giant,
// and a newcomer without any work.
func (s *scales) findLevel() {
	rest := waterline{}
	base := make([]int64, len(s.x.inst))
	var loose []int64 // weights of the workloads that have a choice
	for w, c := range s.x.classOf {
		if !s.x.counts(int32(w), s.place[w]) {
			continue
		}
		weight := s.x.weight[w]
		rest.volume += weight
		if members := s.x.classes[c].members; len(members) == 1 {
			base[members[0]] += weight
		} else {
			loose = append(loose, weight)
		}
	}
	var active []int32
	for i := range s.x.inst {
		if s.x.active[i] {
			active = append(active, int32(i))
			rest.width += s.x.capacity[i]
		}
	}
	rest.setAside(s.x, active, base, loose)
	s.level = make([]int64, len(s.x.inst))
	for _, i := range active {
		s.level[i] = rest.part(s.x.capacity[i])
	}
}

// waterline is a volume over a width.
type waterline struct{ volume, width int64 }

func (l waterline) part(capacity int64) int64 {
	if l.width <= 0 {
		return 0
	}
	return l.volume * capacity / l.width
}

func (l *waterline) remove(weight, capacity int64) {
	l.volume -= weight
	l.width -= capacity
}

// setAside takes rocks out until none stands out, and never the last instance.
func (l *waterline) setAside(x *Index, active []int32, base, loose []int64) {
	capacity := func(i int32) int64 { return x.capacity[i] }
	bySize := slices.Clone(active) // the largest capacity takes the heaviest rock
	slices.SortFunc(bySize, func(a, b int32) int {
		return cmp.Or(cmp.Compare(capacity(b), capacity(a)), cmp.Compare(x.rank[a], x.rank[b]))
	})
	byBase := slices.Clone(active)
	slices.SortFunc(byBase, func(a, b int32) int {
		return cmp.Or(cmp.Compare(base[b]*capacity(a), base[a]*capacity(b)), cmp.Compare(a, b))
	})
	gone := newBitset(len(x.inst))
	left := len(active)
	sorted := false
	for left > 1 {
		for len(bySize) > 0 && gone.has(bySize[0]) {
			bySize = bySize[1:]
		}
		switch {
		case len(byBase) > 0 && gone.has(byBase[0]):
			byBase = byBase[1:]
			continue
		case len(byBase) > 0 && base[byBase[0]] > l.part(capacity(byBase[0])):
			l.remove(base[byBase[0]], capacity(byBase[0]))
			gone.add(byBase[0])
		case !sorted && len(loose) > 0 && slices.Max(loose) > l.part(capacity(bySize[0])):
			slices.SortFunc(loose, func(a, b int64) int { return cmp.Compare(b, a) })
			sorted = true
			continue
		case sorted && len(loose) > 0 && loose[0] > l.part(capacity(bySize[0])):
			l.remove(loose[0], capacity(bySize[0]))
			gone.add(bySize[0])
			loose = loose[1:]
		default:
			return
		}
		left--
	}
}
