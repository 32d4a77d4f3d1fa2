package assigner

// caps returns the most workloads that each instance may get: its share by capacity of what the
// active instances have to carry, times the percentage, rounded up, in integers: a cap that came
// out one too high by a rounding of floats would move hundreds of workloads for nothing. A held
// instance has no cap.
func (x *Index) caps(percent int) []int {
	var n, width int64
	for w := range x.key {
		if x.counts(int32(w), none) {
			n++
		}
	}
	for i := range x.inst {
		if x.active[i] {
			width += x.capacity[i]
		}
	}
	caps := make([]int, len(x.inst))
	for i := range x.inst {
		caps[i] = len(x.key)
		if x.active[i] {
			caps[i] = int((n*x.capacity[i]*int64(percent) + width*100 - 1) / (width * 100))
		}
	}
	return caps
}

// spill moves what is above the caps to the next best instances. It is the matching of Gale and
// Shapley: a workload asks its instances in the order of their bids, an instance that is full
// keeps the best it has been offered. The result does not depend on who asks first.
func (x *Index) spill(place []int32, caps []int) {
	table := logTable()
	held := make([][]offer, len(x.inst)) // per instance: what it keeps, the worst on top of a heap
	var asking []int32
	for w, i := range place {
		if i != none {
			asking = append(asking, int32(w))
		}
	}
	for len(asking) > 0 {
		w := asking[len(asking)-1]
		asking = asking[:len(asking)-1]
		i := place[w]
		if caps[i] > 0 {
			held[i] = pushOffer(held[i], offer{Score(x.hash[w], x.instHash[i]), w})
		}
		if caps[i] > 0 && len(held[i]) <= caps[i] {
			continue
		}
		refused := w
		if caps[i] > 0 {
			held[i], refused = popOffer(held[i])
		}
		if next := x.nextBest(refused, i, table); next != none {
			place[refused] = next
			asking = append(asking, refused)
		} else {
			// Nobody whom its labels allow has room: over the cap is better than nowhere.
			place[refused] = x.best(refused, x.runs(x.classes[x.classOf[refused]].members), table).i
		}
	}
}

// nextBest returns the instance whose bid comes right after that of i, or none.
func (x *Index) nextBest(w, i int32, table *[1<<logSteps + 1]uint64) int32 {
	after := x.bid(w, i, table)
	var best bid
	best.i = none
	for _, j := range x.classes[x.classOf[w]].members {
		if j == i {
			continue
		}
		b := x.bid(w, j, table)
		if after.compare(b) < 0 && (best.i == none || b.compare(best) < 0) {
			best = b
		}
	}
	return best.i
}

// offer is a workload that asks an instance.
type offer struct {
	score uint64
	w     int32
}

func (o offer) worse(p offer) bool { return o.score < p.score || o.score == p.score && o.w > p.w }

func pushOffer(heap []offer, o offer) []offer {
	heap = append(heap, o)
	for n := len(heap) - 1; n > 0; {
		up := (n - 1) / 2
		if !heap[n].worse(heap[up]) {
			break
		}
		heap[n], heap[up] = heap[up], heap[n]
		n = up
	}
	return heap
}

func popOffer(heap []offer) ([]offer, int32) {
	worst := heap[0].w
	last := len(heap) - 1
	heap[0] = heap[last]
	heap = heap[:last]
	for n := 0; ; {
		child := 2*n + 1
		if child >= last {
			break
		}
		if child+1 < last && heap[child+1].worse(heap[child]) {
			child++
		}
		if !heap[child].worse(heap[n]) {
			break
		}
		heap[n], heap[child] = heap[child], heap[n]
		n = child
	}
	return heap, worst
}
