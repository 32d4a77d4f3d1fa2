package assigner

import "slices"

// hrwCache remembers who won each workload, among whom, so that the next plan only asks those who
// are new, and asks everyone only where the winner is gone.
type hrwCache struct {
	best    []int32      // workload -> name of the winner
	score   []uint64     // workload -> score of the winner
	classOf []int32      // workload -> number in classes, as it was then; none where it had no winner
	classes []electorate // who was asked
}

// electorate lists who was asked: names and their capacities.
type electorate map[int32]int64

// change is what happened between two electorates.
type change struct {
	fresh [][]int32      // runs of new instances and of those whose capacity changed
	gone  map[int32]bool // names that were asked and are not there, or not with that capacity, any more
}

// election finds the winners of all workloads, with the help of the one before.
type election struct {
	x       *Index
	table   *[1<<logSteps + 1]uint64
	runs    [][][]int32 // class -> its instances in runs
	before  []electorate
	now     []electorate
	changes map[[2]int32]*change // by old class and class
}

// bestOfAll returns each workload's best instance, or none where it has no class.
func (x *Index) bestOfAll() []int32 {
	if x.hrw.best == nil {
		n := len(x.key)
		x.hrw = hrwCache{best: make([]int32, n), score: make([]uint64, n), classOf: slices.Repeat([]int32{none}, n)}
	}
	e := x.newElection()
	place := make([]int32, len(x.key))
	var pair [2]int32 // most workloads are of one class, and so is
	var ch *change    // what happened to it
	for w, c := range x.classOf {
		place[w] = none
		if c != none {
			if now := [2]int32{x.hrw.classOf[w], c}; ch == nil || now != pair {
				pair, ch = now, e.change(now)
			}
			winner := e.winner(int32(w), c, ch)
			place[w] = winner.i
			x.hrw.best[w], x.hrw.score[w] = x.instName[winner.i], winner.score
		}
		x.hrw.classOf[w] = c
	}
	x.hrw.classes = e.now
	return place
}

func (x *Index) newElection() *election {
	m := len(x.classes)
	e := &election{x: x, table: logTable(), runs: make([][][]int32, m), before: x.hrw.classes, now: make([]electorate, m), changes: map[[2]int32]*change{}}
	for c := range x.classes {
		e.runs[c] = x.runs(x.classes[c].members)
		e.now[c] = electorate{}
		for _, i := range x.classes[c].members {
			e.now[c][x.instName[i]] = x.capacity[i]
		}
	}
	return e
}

// winner returns the best bid for a workload of a class, to which a change has happened.
func (e *election) winner(w, c int32, ch *change) bid {
	old := &e.x.hrw
	if old.classOf[w] == none || ch.gone != nil && ch.gone[old.best[w]] {
		return e.x.best(w, e.runs[c], e.table)
	}
	holder := e.x.instOf[old.best[w]]
	held := bid{i: holder, score: old.score[w], capacity: uint64(e.x.capacity[holder])}
	if len(ch.fresh) == 0 {
		return held
	}
	fresh := e.x.best(w, ch.fresh, e.table)
	if fresh.capacity != held.capacity { // or else the scores decide
		fresh.distance, held.distance = distance(fresh.score, e.table), distance(held.score, e.table)
	}
	if fresh.compare(held) < 0 {
		return fresh
	}
	return held
}

// change compares the electorates of an old class, or none, and of a class, once for each pair.
func (e *election) change(pair [2]int32) *change {
	ch, ok := e.changes[pair]
	switch {
	case ok:
	case pair[0] == none:
		ch = &change{}
	default:
		ch = e.compare(e.before[pair[0]], pair[1])
	}
	e.changes[pair] = ch
	return ch
}

func (e *election) compare(before electorate, c int32) *change {
	ch := &change{}
	for name, capacity := range before {
		if e.now[c][name] != capacity {
			if ch.gone == nil {
				ch.gone = map[int32]bool{}
			}
			ch.gone[name] = true
		}
	}
	var fresh []int32
	for _, i := range e.x.classes[c].members {
		if before[e.x.instName[i]] != e.x.capacity[i] {
			fresh = append(fresh, i)
		}
	}
	ch.fresh = e.x.runs(fresh)
	return ch
}
