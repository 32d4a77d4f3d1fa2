package assigner

// Sticky spreads the workloads evenly and moves exactly as few as that takes. It is the default.
// The zero value works.
//
// Even means: within one of each other, or, where capacities differ, Webster's apportionment of
// the workloads by capacity; where labels or pins restrict the choice, the least imbalance that
// they allow. Few means: no plan that is as even moves fewer workloads, whoever owns what now. So
// a join moves workloads to the newcomer alone, a leave moves those of the leaver alone, and a
// second plan moves nothing.
//
// While instances of several versions are present, or Policy.Freeze is set, healthy workloads stay
// where they are and what must be placed goes to the newest version first: a rolling update that
// starts a new instance before it stops an old one moves each workload exactly once.
//
// Sticky reads Input.Owners, so all who plan must see the same owners: let one planner plan for
// the fleet, or read the owners at one revision. Weights are ignored; see Weighted.
type Sticky struct{}

// Plan implements Assigner.
func (s Sticky) Plan(in Input) (Plan, error) { return planInput(s, in) }

// HeedsOwners implements Indexed: they do.
func (Sticky) HeedsOwners() bool { return true }

// PlanIndex implements Indexed.
func (s Sticky) PlanIndex(x *Index) (Plan, error) {
	if p, held := x.hold(); held {
		return p, nil
	}
	at := x.positions()
	if why := x.frozen(); why != "" {
		return x.finish(at, x.placeOnly(at, why, false)), nil
	}
	return x.finish(at, x.level(at)), nil
}

// level places and levels by number.
func (x *Index) level(at []int32) outcome {
	place := make([]int32, len(x.key))
	for w := range place {
		place[w] = none
	}
	s := x.newSpread(at, place)
	s.solve()
	groups := x.groupCounts(at)
	deferred := x.evict(s, at, place, groups)
	x.deal(s, place, groups)
	quota := make([]int, len(x.inst))
	for i := range quota {
		quota[i] = int(s.load[i])
	}
	return outcome{place: place, quota: quota, deferred: deferred}
}
