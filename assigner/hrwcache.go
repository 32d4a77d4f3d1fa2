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
	fresh [][]int32 // runs of new instances and of those whose capacity changed
	gone  []bool    // by name: was asked and is not there, or not with that capacity, any more; nil: nobody
	rival int32     // the only fresh one; none: there is none, or there are several
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
	pair, ch := [2]int32{none, none}, (*change)(nil) // most workloads are of one class, and so is what happened to it
	for w, c := range x.classOf {
		was := x.hrw.classOf[w]
		x.hrw.classOf[w] = c
		if c == none {
			place[w] = none
			continue
		}
		if now := [2]int32{was, c}; ch == nil || now != pair {
			pair, ch = now, e.change(now)
		}
		if was != none && (ch.gone == nil || !ch.gone[x.hrw.best[w]]) {
			i := x.instOf[x.hrw.best[w]]
			if len(ch.fresh) == 0 {
				place[w] = i
				continue
			}
			if ch.rival != none && x.capacity[i] == x.capacity[ch.rival] { // as in most fleets, and nearly always in vain
				if s := Score(x.hash[w], x.instHash[ch.rival]); s < x.hrw.score[w] {
					place[w] = i
					continue
				}
			}
		}
		winner, score := e.winner(int32(w), was, c, ch)
		place[w] = winner
		if name := x.instName[winner]; name != x.hrw.best[w] || score != x.hrw.score[w] {
			x.hrw.best[w], x.hrw.score[w] = name, score
		}
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

// winner returns the best instance and its score for a workload of a class, to which a change has
// happened.
func (e *election) winner(w, was, c int32, ch *change) (int32, uint64) {
	old := &e.x.hrw
	if was == none || ch.gone != nil && ch.gone[old.best[w]] {
		b := e.x.best(w, e.runs[c], e.table)
		return b.i, b.score
	}
	return e.challenge(w, e.x.instOf[old.best[w]], old.score[w], ch.fresh)
}

// challenge returns the winner among the holder and the fresh instances. Where capacities are
// equal, as in most fleets, the scores alone decide.
func (e *election) challenge(w, i int32, score uint64, fresh [][]int32) (int32, uint64) {
	for _, run := range fresh {
		if e.x.capacity[run[0]] != e.x.capacity[i] {
			b := e.x.best(w, [][]int32{run}, e.table)
			if e.x.bid(w, b.i, e.table).compare(e.x.bid(w, i, e.table)) < 0 {
				i, score = b.i, b.score
			}
			continue
		}
		for _, j := range run {
			if s := Score(e.x.hash[w], e.x.instHash[j]); s > score || s == score && j < i {
				i, score = j, s
			}
		}
	}
	return i, score
}

// change compares the electorates of an old class, or none, and of a class, once for each pair.
func (e *election) change(pair [2]int32) *change {
	ch, ok := e.changes[pair]
	switch {
	case ok:
	case pair[0] == none:
		ch = &change{rival: none}
	default:
		ch = e.compare(e.before[pair[0]], pair[1])
	}
	e.changes[pair] = ch
	return ch
}

func (e *election) compare(before electorate, c int32) *change {
	ch := &change{rival: none}
	for name, capacity := range before {
		if e.now[c][name] != capacity {
			if ch.gone == nil {
				ch.gone = make([]bool, len(e.x.names))
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
	if len(fresh) == 1 {
		ch.rival = fresh[0]
	}
	return ch
}
