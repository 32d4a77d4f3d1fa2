package assigner

import "slices"

// step is one workload of a class that changes from one instance to another.
type step struct{ class, from, to int32 }

// rebalance lowers the imbalance as long as some chain of steps can: A gives B a workload of one
// class, B gives C one of another, and in the end A has one less and C one more. The loads are the
// least imbalanced ones when no instance can reach a cheaper place than its last unit.
func (s *spread) rebalance() {
	search := newChainSearch(s)
	for improved := true; improved; {
		improved = false
		order := identity(len(s.x.inst))
		slices.SortFunc(order, func(a, b int32) int {
			if c := s.removal(b).compare(s.removal(a)); c != 0 {
				return c
			}
			return int(a - b)
		})
		for _, i := range order {
			for {
				chain, end := search.from(i)
				if chain == nil || s.removal(i).compare(s.addition(end)) <= 0 {
					break
				}
				s.push(chain, i, end)
				improved = true
			}
		}
	}
}

// push repeats a chain while it pays and all its instances have something to give.
func (s *spread) push(chain []step, from, to int32) {
	for s.removal(from).compare(s.addition(to)) > 0 {
		for _, st := range chain {
			if s.want[st.class][st.from] == 0 {
				return
			}
		}
		for _, st := range chain {
			s.want[st.class][st.from]--
			s.want[st.class][st.to]++
		}
		s.load[from]--
		s.load[to]++
	}
}

// chainSearch finds the best end that an instance can reach, breadth first.
type chainSearch struct {
	s     *spread
	came  []step // per instance: the step that reached it
	seen  []bool
	class []bool // classes whose instances have all been seen
	queue []int32
}

func newChainSearch(s *spread) *chainSearch {
	m := len(s.x.inst)
	return &chainSearch{s: s, came: make([]step, m), seen: make([]bool, m), class: make([]bool, len(s.classes)), queue: make([]int32, 0, m)}
}

// from returns the shortest chain from i to the reachable instance with the cheapest place.
func (q *chainSearch) from(i int32) (chain []step, end int32) {
	clear(q.seen)
	clear(q.class)
	q.seen[i] = true
	q.queue = append(q.queue[:0], i)
	end = none
	for head := 0; head < len(q.queue); head++ {
		at := q.queue[head]
		for k := range q.s.classes {
			if q.class[k] || q.s.want[k][at] == 0 {
				continue
			}
			q.class[k] = true
			for _, to := range q.s.members(int32(k)) {
				if q.seen[to] {
					continue
				}
				q.seen[to], q.came[to] = true, step{int32(k), at, to}
				q.queue = append(q.queue, to)
				if end == none || q.s.addition(to).compare(q.s.addition(end)) < 0 {
					end = to
				}
			}
		}
	}
	if end == none {
		return nil, none
	}
	for at := end; at != i; at = q.came[at].from {
		chain = append(chain, q.came[at])
	}
	return chain, end
}
