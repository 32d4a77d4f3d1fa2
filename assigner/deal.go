package assigner

import (
	"cmp"
	"slices"
)

// deal gives the workloads that have no place to the instances that have fewer of their class than
// they should: one each in turn, the neediest first. Where the budget left workloads where they
// were, there is more room than there are workloads, and the turns keep what is given even.
func (x *Index) deal(s *spread, place []int32, groups groupCounts) {
	for k, pool := range x.pools(s, place) {
		if len(pool) == 0 {
			continue
		}
		room := make([]int32, len(x.inst))
		for _, i := range s.members(int32(k)) {
			room[i] = max(0, s.want[k][i]-s.have[k][i])
		}
		d := dealer{x: x, room: room, turn: x.turns(s, int32(k), room), groups: groups}
		for _, w := range pool {
			place[w] = d.next(x.group[w])
		}
	}
}

// pools lists the workloads of each class that have no place. Groups come first and together, so
// that turns spread them; inside, the order of hashes keeps keys that look alike apart.
func (x *Index) pools(s *spread, place []int32) [][]int32 {
	pools := make([][]int32, len(s.classes))
	slot := s.slots()
	for w, i := range place {
		if c := x.classOf[w]; i == none && c != none && slot[c] != none {
			pools[slot[c]] = append(pools[slot[c]], int32(w))
		}
	}
	for _, pool := range pools {
		x.sortPool(pool)
	}
	return pools
}

func (x *Index) sortPool(pool []int32) {
	sortByHash(pool, x.hash)
	if x.groups > 0 {
		slices.SortStableFunc(pool, func(a, b int32) int { return cmp.Compare(x.group[b], x.group[a]) })
	}
}

// turns lists the instances with room, the least loaded for their capacity first.
func (x *Index) turns(s *spread, k int32, room []int32) []int32 {
	var turn []int32
	for _, i := range s.members(k) {
		if room[i] > 0 {
			turn = append(turn, i)
		}
	}
	next := func(i int32) price { return price{2*(s.load[i]-int64(room[i])) + 1, x.capacity[i]} }
	slices.SortFunc(turn, func(a, b int32) int {
		return cmp.Or(next(a).compare(next(b)), cmp.Compare(x.rank[a], x.rank[b]))
	})
	return turn
}

// dealer gives out the room of one class.
type dealer struct {
	x      *Index
	room   []int32
	turn   []int32 // instances with room
	at     int     // whose turn it is
	groups groupCounts
}

// lookAhead is how many instances may be passed over, to find one that has less of a group.
const lookAhead = 16

func (d *dealer) next(group int32) int32 {
	pick := d.at % len(d.turn)
	if d.groups != nil && group != none {
		best := pick
		for ahead := 1; ahead < min(lookAhead, len(d.turn)); ahead++ {
			other := (pick + ahead) % len(d.turn)
			if d.groups.count(group, d.turn[other]) < d.groups.count(group, d.turn[best]) {
				best = other
			}
		}
		pick = best
	}
	i := d.turn[pick]
	d.groups.add(group, i, 1)
	d.at = pick + 1
	if d.room[i]--; d.room[i] == 0 {
		d.turn = slices.Delete(d.turn, pick, pick+1)
		d.at = pick
	}
	return i
}
