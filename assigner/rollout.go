package assigner

import (
	"cmp"
	"slices"
)

// frozen says why healthy workloads stay where they are; empty: they may be levelled.
func (x *Index) frozen() string {
	if x.policy.Freeze != "" {
		return x.policy.Freeze
	}
	if !x.policy.AcrossVersions && x.mixed() {
		return "a rolling update is under way: instances of several versions are present"
	}
	return ""
}

// mixed reports whether instances that are not draining differ in their version.
func (x *Index) mixed() bool {
	first := none
	for i := range x.inst {
		switch {
		case x.inst[i].Phase == Draining:
		case first == none:
			first = int32(i)
		case x.inst[i].Version != x.inst[first].Version:
			return true
		}
	}
	return false
}

// newest returns the active instances of the version of the latest active joiner: in a rolling
// update, and in a roll back just as well, that is the version which will remain.
func (x *Index) newest() bitset {
	set := newBitset(len(x.inst))
	version, found := "", false
	for _, i := range slices.Backward(x.joinOrder) {
		if !x.active[i] {
			continue
		}
		if !found {
			version, found = x.inst[i].Version, true
		}
		if x.inst[i].Version == version {
			set.add(i)
		}
	}
	return set
}

// placeOnly leaves every workload that may stay where it is and places the others: on the newest
// version, the least loaded instance first, up to an even share each; what finds no room there goes
// to the least loaded of any version.
func (x *Index) placeOnly(at []int32, why string, weighted bool) outcome {
	place := slices.Clone(at)
	loadOf := func(w int32) int64 {
		if weighted {
			return x.weight[w]
		}
		return 1
	}
	load := make([]int64, len(x.inst))
	var pool []int32
	for w, i := range at {
		switch {
		case i != none:
			load[i] += loadOf(int32(w))
		case x.classOf[w] != none:
			pool = append(pool, int32(w))
		}
	}
	fair := x.fairShares(at, loadOf)
	newest := x.newest()
	x.sortUrgent(pool, weighted)
	heaps := make([]*classHeaps, len(x.classes))
	for _, w := range pool {
		c := x.classOf[w]
		if heaps[c] == nil {
			heaps[c] = x.newClassHeaps(x.classes[c], load, newest)
		}
		i := heaps[c].preferred.least()
		if i == none || load[i] >= fair[i] {
			i = heaps[c].all.least()
		}
		place[w] = i
		load[i] += loadOf(w)
	}
	o := outcome{place: place, frozen: why, newest: newest}
	if !x.mixed() {
		o.newest = nil
	}
	return o
}

// classHeaps are the instances of a class by load: those of the newest version, and all.
type classHeaps struct{ preferred, all *loadHeap }

func (x *Index) newClassHeaps(c class, load []int64, newest bitset) *classHeaps {
	var preferred []int32
	for _, i := range c.members {
		if newest.has(i) {
			preferred = append(preferred, i)
		}
	}
	return &classHeaps{x.newLoadHeap(load, preferred), x.newLoadHeap(load, c.members)}
}

// fairShares returns each active instance's part of the load that is not on a held instance, by
// capacity and rounded up.
func (x *Index) fairShares(at []int32, loadOf func(int32) int64) []int64 {
	var total, width int64
	for w, i := range at {
		if x.counts(int32(w), i) {
			total += loadOf(int32(w))
		}
	}
	for i := range x.inst {
		if x.active[i] {
			width += x.capacity[i]
		}
	}
	fair := make([]int64, len(x.inst))
	for i := range x.inst {
		if x.active[i] {
			fair[i] = (total*x.capacity[i] + width - 1) / width
		}
	}
	return fair
}

// sortUrgent orders what is to be placed: workloads with fewer instances to choose from first,
// then, where weights count, the heaviest first, then as sortPool does.
func (x *Index) sortUrgent(pool []int32, weighted bool) {
	type entry struct {
		urgency int64
		at, w   int32
	}
	x.sortPool(pool)
	list := make([]entry, len(pool))
	for n, w := range pool {
		urgency := int64(len(x.classes[x.classOf[w]].members)) * 2 * MaxWeight
		if weighted {
			urgency -= x.weight[w]
		}
		list[n] = entry{urgency, int32(n), w}
	}
	compare := func(a, b entry) int {
		if a.urgency != b.urgency {
			return cmp.Compare(a.urgency, b.urgency)
		}
		return cmp.Compare(a.at, b.at)
	}
	if !slices.IsSortedFunc(list, compare) {
		slices.SortFunc(list, compare)
	}
	for n, e := range list {
		pool[n] = e.w
	}
}
