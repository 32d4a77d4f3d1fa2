package assigner

// loadHeap finds the least loaded instance. Loads only ever rise while it is used, also by what
// other heaps over the same loads give out, so an entry remembers the load that it was filed
// under and is filed anew when it comes up outdated.
type loadHeap struct {
	x       *Index
	load    []int64 // per instance; shared
	entries []loadEntry
}

type loadEntry struct {
	load int64
	i    int32
}

func (x *Index) newLoadHeap(load []int64, members []int32) *loadHeap {
	h := &loadHeap{x: x, load: load, entries: make([]loadEntry, len(members))}
	for n, i := range members {
		h.entries[n] = loadEntry{load[i], i}
	}
	for n := len(h.entries)/2 - 1; n >= 0; n-- {
		h.sift(n)
	}
	return h
}

// least returns the instance with the cheapest next place, (2·load+1)/capacity; equal ones go by
// the order of dealing. It returns none where the heap is empty.
func (h *loadHeap) least() int32 {
	for len(h.entries) > 0 {
		top := &h.entries[0]
		if top.load == h.load[top.i] {
			return top.i
		}
		top.load = h.load[top.i]
		h.sift(0)
	}
	return none
}

func (h *loadHeap) sift(n int) {
	for {
		child := 2*n + 1
		if child >= len(h.entries) {
			return
		}
		if child+1 < len(h.entries) && h.before(h.entries[child+1], h.entries[child]) {
			child++
		}
		if !h.before(h.entries[child], h.entries[n]) {
			return
		}
		h.entries[n], h.entries[child] = h.entries[child], h.entries[n]
		n = child
	}
}

func (h *loadHeap) before(a, b loadEntry) bool {
	x := h.x
	if x.capacity[a.i] != x.capacity[b.i] {
		p, q := price{2*a.load + 1, x.capacity[a.i]}, price{2*b.load + 1, x.capacity[b.i]}
		if c := p.compare(q); c != 0 {
			return c < 0
		}
	} else if a.load != b.load {
		return a.load < b.load
	}
	return x.rank[a.i] < x.rank[b.i]
}
