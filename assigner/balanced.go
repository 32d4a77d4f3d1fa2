package assigner

// Balanced gives each instance an even, contiguous slice of the workloads in the order of their
// keys; instances are taken in the order of join time, then ID, and the earliest get the
// remainder. The zero value works. It ignores capacity, weight, group and owners.
//
// It is easy to predict and needs no memory, and it moves far more than it must: a join or a leave
// shifts up to half of all workloads. Prefer Sticky unless the order of keys itself has a meaning.
//
// Workloads with the same eligible instances (Requires, Pin) are sliced over those.
type Balanced struct{}

// Plan implements Assigner.
func (b Balanced) Plan(in Input) (Plan, error) { return planInput(b, in) }

// HeedsOwners implements Indexed: they do not.
func (Balanced) HeedsOwners() bool { return false }

// PlanIndex implements Indexed.
func (b Balanced) PlanIndex(x *Index) (Plan, error) {
	if p, held := x.hold(); held {
		return p, nil
	}
	place := make([]int32, len(x.key))
	for w := range place {
		place[w] = none
	}
	for c, workloads := range x.byClass() {
		to := x.byJoin(x.classes[c])
		n, m := len(workloads), len(to)
		for i := range to {
			// The first n%m slices are one longer: slice i begins at i*(n/m) + min(i, n%m).
			begin, end := i*(n/m)+min(i, n%m), (i+1)*(n/m)+min(i+1, n%m)
			for _, w := range workloads[begin:end] {
				place[w] = to[i]
			}
		}
	}
	return x.finish(x.positions(), outcome{place: place}), nil
}

// byClass lists the workloads of each class, in the order of keys. Those of no class are left out.
func (x *Index) byClass() [][]int32 {
	count := make([]int, len(x.classes))
	for _, c := range x.classOf {
		if c != none {
			count[c]++
		}
	}
	lists := make([][]int32, len(x.classes))
	for c := range lists {
		lists[c] = make([]int32, 0, count[c])
	}
	for w, c := range x.classOf {
		if c != none {
			lists[c] = append(lists[c], int32(w))
		}
	}
	return lists
}

// byJoin lists the instances of a class by join time, then ID.
func (x *Index) byJoin(c class) []int32 {
	list := make([]int32, 0, len(c.members))
	for _, i := range x.joinOrder {
		if c.set.has(i) {
			list = append(list, i)
		}
	}
	return list
}
