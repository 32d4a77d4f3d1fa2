package assigner

// hrwCache remembers who won each workload, among whom, so that the next plan only asks those who
// are new, and asks everyone only where the winner is gone.
type hrwCache struct {
	best    []int32      // workload -> name of the winner
	classOf []int32      // workload -> number in classes, as it was then
	classes []electorate // who was asked
}

// electorate lists who was asked: names and their capacities.
type electorate map[int32]int64

// change is what happened between two electorates.
type change struct {
	fresh [][]int32      // runs of new instances and of those whose capacity changed
	gone  map[int32]bool // names that were asked and are not there, or not with that capacity, any more
}

// bestOfAll returns each workload's best instance, or none where it has no class.
func (x *Index) bestOfAll() []int32 {
	place := make([]int32, len(x.key))
	table := logTable()
	runs := make([][][]int32, len(x.classes))
	now := make([]electorate, len(x.classes))
	for c := range x.classes {
		runs[c] = x.runs(x.classes[c].members)
		now[c] = electorate{}
		for _, i := range x.classes[c].members {
			now[c][x.instName[i]] = x.capacity[i]
		}
	}
	changes := map[[2]int32]*change{}
	last, was := [2]int32{none, none}, (*change)(nil)
	old := x.hrw
	x.hrw = hrwCache{best: make([]int32, len(x.key)), classOf: append([]int32(nil), x.classOf...), classes: now}
	for w, c := range x.classOf {
		place[w] = none
		if c == none {
			continue
		}
		if old.best == nil || old.classOf[w] == none {
			place[w] = x.best(int32(w), runs[c], table).i
		} else {
			if pair := [2]int32{old.classOf[w], c}; pair != last {
				last, was = pair, x.changeOf(changes, old.classes, now, pair)
			}
			if was.gone != nil && was.gone[old.best[w]] {
				place[w] = x.best(int32(w), runs[c], table).i
			} else {
				place[w] = x.challenge(int32(w), x.instOf[old.best[w]], was.fresh, table)
			}
		}
		x.hrw.best[w] = x.instName[place[w]]
	}
	return place
}

// challenge returns the winner among the holder and the fresh instances.
func (x *Index) challenge(w, holder int32, fresh [][]int32, table *[1<<logSteps + 1]uint64) int32 {
	if len(fresh) == 0 {
		return holder
	}
	if b := x.best(w, fresh, table); x.bid(w, b.i, table).compare(x.bid(w, holder, table)) < 0 {
		return b.i
	}
	return holder
}

// changeOf compares two electorates, once for each pair.
func (x *Index) changeOf(known map[[2]int32]*change, before, now []electorate, pair [2]int32) *change {
	old, c := pair[0], pair[1]
	if ch, ok := known[pair]; ok {
		return ch
	}
	ch := &change{}
	for name, capacity := range before[old] {
		if now[c][name] != capacity {
			if ch.gone == nil {
				ch.gone = map[int32]bool{}
			}
			ch.gone[name] = true
		}
	}
	var fresh []int32
	for _, i := range x.classes[c].members {
		if before[old][x.instName[i]] != x.capacity[i] {
			fresh = append(fresh, i)
		}
	}
	ch.fresh = x.runs(fresh)
	known[pair] = ch
	return ch
}
