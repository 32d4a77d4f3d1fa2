package assigner

import (
	"fmt"
	"maps"
	"slices"
)

// bitset is a set of instances.
type bitset []uint64

func newBitset(n int) bitset         { return make(bitset, (n+63)/64) }
func (b bitset) add(i int32)         { b[i>>6] |= 1 << (i & 63) }
func (b bitset) has(i int32) bool    { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitset) equal(o bitset) bool { return slices.Equal(b, o) }

// class is a set of workloads that may be given to the same instances, those of set. All
// algorithms treat the workloads of one class alike; most fleets have one class.
type class struct {
	set     bitset
	members []int32 // the same set, ascending
}

// classify finds out which instances each workload may be given to. It is called when the
// instances change.
func (x *Index) classify() {
	x.match = make([]bitset, len(x.selectors))
	bySelector := make([]int32, len(x.selectors))
	x.classes, x.lacking = x.classes[:0], make([]string, len(x.selectors))
	for s := range x.selectors {
		x.match[s] = newBitset(len(x.inst))
		for i := range x.inst {
			if matchAll(x.parsed[s], x.inst[i]) {
				x.match[s].add(int32(i))
			}
		}
		set, why := x.eligible(s)
		bySelector[s], x.lacking[s] = none, why
		if why == "" {
			bySelector[s] = x.class(set)
		}
	}
	for w := range x.classOf {
		x.classOf[w] = bySelector[x.sel[w]]
	}
	byPin := map[int32]int32{}
	for _, w := range slices.Sorted(maps.Keys(x.pinOf)) {
		pin := x.pin(w)
		if pin == none {
			continue
		}
		c, ok := byPin[pin]
		if !ok {
			set := newBitset(len(x.inst))
			set.add(pin)
			c = x.class(set)
			byPin[pin] = c
		}
		x.classOf[w] = c
	}
}

// eligible returns the active instances that match a selector or, where there is none, the held
// ones: a workload is not left lying while anybody could run it. why says what is missing.
func (x *Index) eligible(selector int) (set bitset, why string) {
	active, held := newBitset(len(x.inst)), newBitset(len(x.inst))
	var actives, helds, draining int
	for i := range x.inst {
		switch {
		case !x.match[selector].has(int32(i)):
		case x.active[i]:
			active.add(int32(i))
			actives++
		case x.inst[i].Phase == Draining:
			draining++
		default:
			held.add(int32(i))
			helds++
		}
	}
	switch {
	case actives > 0:
		return active, ""
	case helds > 0:
		return held, ""
	case len(x.inst) == 0:
		return nil, "the fleet has no live instance"
	case draining > 0:
		return nil, "every instance that may run it is draining"
	}
	return nil, fmt.Sprintf("no instance has the labels that it requires: %s", x.selectors[selector])
}

// class returns the number of the class with this set, which it makes where it is new. Fleets
// have few classes; the pinned ones, which may be many, are looked up by the caller.
func (x *Index) class(set bitset) int32 {
	for c := range x.classes {
		if x.classes[c].set.equal(set) {
			return int32(c)
		}
	}
	var members []int32
	for i := range x.inst {
		if set.has(int32(i)) {
			members = append(members, int32(i))
		}
	}
	x.classes = append(x.classes, class{set, members})
	return int32(len(x.classes) - 1)
}

// pin returns the instance that a workload is pinned to, where that instance can take it.
func (x *Index) pin(w int32) int32 {
	name, ok := x.nameOf[x.pinOf[w]]
	if !ok {
		return none
	}
	i := x.instOf[name]
	if i == none || !x.active[i] || !x.match[x.sel[w]].has(i) {
		return none
	}
	return i
}

// mayKeep reports whether a workload may stay on an instance: an active one that may be given it,
// or a held one that satisfies its labels.
func (x *Index) mayKeep(w, i int32) bool {
	switch x.inst[i].Phase {
	case Draining:
		return false
	case Active:
		return x.classOf[w] != none && x.classes[x.classOf[w]].set.has(i)
	}
	return x.match[x.sel[w]].has(i)
}

// position returns where a workload counts: at the target of the move under way or else at its
// owner, provided that it may stay there.
func (x *Index) position(w int32) int32 {
	for _, name := range [2]int32{x.flight[w], x.owner[w]} {
		if name == none {
			continue
		}
		if i := x.instOf[name]; i != none && x.mayKeep(w, i) {
			return i
		}
	}
	return none
}

// counts reports whether a workload that is on an instance, or on none, is part of what the active
// instances share: it is not on a held one, and need not go to one.
func (x *Index) counts(w, i int32) bool {
	if i == none {
		c := x.classOf[w]
		return c != none && x.active[x.classes[c].members[0]]
	}
	return x.active[i]
}
