package assigner

// Primary gives everything to the instance that joined first; equal join times are ordered by ID.
// The others get nothing until it goes, and then the next one takes all. A newcomer never takes
// over, whatever its ID. The zero value works. Use it for singletons that belong together.
//
// Workloads with the same eligible instances (Requires, Pin) go to the earliest of those.
type Primary struct {
	// Rollout keeps a rolling update from moving everything once per instance, which happens where
	// the oldest instance is replaced first: the present owner stays while it is active, and when
	// it goes, the earliest instance of the newest version follows. The newest version is that of
	// the latest joiner. It reads Input.Owners; false looks at join times alone.
	Rollout bool
}

// Plan implements Assigner.
func (p Primary) Plan(in Input) (Plan, error) { return planInput(p, in) }

// HeedsOwners implements Indexed: they do where Rollout is set.
func (p Primary) HeedsOwners() bool { return p.Rollout }

// PlanIndex implements Indexed.
func (p Primary) PlanIndex(x *Index) (Plan, error) {
	if plan, held := x.hold(); held {
		return plan, nil
	}
	at := x.positions()
	place := make([]int32, len(x.key))
	for w := range place {
		place[w] = none
	}
	for c, workloads := range x.byClass() {
		to := x.byJoin(x.classes[c])
		first := to[0]
		if p.Rollout {
			first = x.successor(workloads, at, to)
		}
		for _, w := range workloads {
			place[w] = first
		}
	}
	return x.finish(at, outcome{place: place}), nil
}

// successor returns the eligible instance that has most of the workloads already, the earliest of
// equals, or else the earliest of the newest version.
func (x *Index) successor(workloads, at, byJoin []int32) int32 {
	count := make([]int, len(x.inst))
	for _, w := range workloads {
		if at[w] != none {
			count[at[w]]++
		}
	}
	best := none
	for _, i := range byJoin {
		if count[i] > 0 && (best == none || count[i] > count[best]) {
			best = i
		}
	}
	if best != none {
		return best
	}
	newest := x.inst[byJoin[len(byJoin)-1]].Version
	for _, i := range byJoin {
		if x.inst[i].Version == newest {
			return i
		}
	}
	return byJoin[0]
}
