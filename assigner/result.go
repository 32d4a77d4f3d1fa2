package assigner

import (
	"slices"

	"github.com/tenure-go/tenure/instance"
)

// outcome is what an algorithm decides; finish makes a Plan of it.
type outcome struct {
	place    []int32 // workload -> instance, or none
	quota    []int   // per instance; nil: what it gets is its quota
	frozen   string
	deferred int
	newest   bitset // set by the rollout rule: the instances of the newest version
}

// positions returns where every workload counts now.
func (x *Index) positions() []int32 {
	at, seats := make([]int32, len(x.key)), x.seats()
	for w, owner := range x.owner {
		switch {
		case x.flight[w] == none && owner == none:
			at[w] = none
		case x.flight[w] == none && x.classOf[w] == 0 && seats[owner] != unseated:
			at[w] = seats[owner]
		default:
			at[w] = x.position(int32(w))
		}
	}
	return at
}

// unseated says that a seat is not known beforehand.
const unseated int32 = -2

// seats returns for each name where a workload of the first class counts that is owned by it, since nearly all
// are of that class and owned by an active instance.
func (x *Index) seats() []int32 {
	seats := slices.Repeat([]int32{unseated}, len(x.names))
	if len(x.classes) == 0 {
		return seats
	}
	for i, name := range x.instName {
		if x.active[i] && x.classes[0].set.has(int32(i)) {
			seats[name] = int32(i)
		}
	}
	return seats
}

// finish turns a decision into a plan. at is where the workloads counted before.
func (x *Index) finish(at []int32, o outcome) Plan {
	p := Plan{
		Targets:  make([]Target, 0, len(x.key)),
		Quotas:   make([]Quota, len(x.inst)),
		Frozen:   o.frozen,
		Deferred: o.deferred,
		Digest:   x.digest(),
	}
	ids := make([]instance.ID, len(x.inst)) // close together, for it is looked up for each workload
	for i := range x.inst {
		ids[i], p.Quotas[i].Instance = x.inst[i].ID, x.inst[i].ID
	}
	moves := 0
	for w, i := range o.place {
		if i != none && i != at[w] {
			moves++
		}
	}
	p.Moves = make([]Move, 0, moves)
	for w, i := range o.place {
		if i == none {
			p.Unplaceable = append(p.Unplaceable, Unplaced{x.key[w], x.why(w)})
			continue
		}
		p.Targets = append(p.Targets, Target{x.key[w], ids[i]})
		p.Quotas[i].Count++
		p.Quotas[i].Weight += x.weight[w]
		if i != at[w] {
			p.Moves = append(p.Moves, x.move(w, at[w], i, o.newest))
		}
	}
	for i := range p.Quotas {
		p.Quotas[i].Quota = p.Quotas[i].Count
		if o.quota != nil {
			p.Quotas[i].Quota = o.quota[i]
		}
	}
	return p
}

// move describes one difference of the plan. from is where the workload counted and could stay, or none.
func (x *Index) move(w int, from, to int32, newest bitset) Move {
	m := Move{Key: x.key[w], To: x.inst[to].ID, Reason: Level}
	if from != none {
		m.From = x.inst[from].ID
		return m
	}
	m.Reason = Orphan
	if x.owner[w] == none {
		return m
	}
	m.From = x.names[x.owner[w]]
	switch owner := x.instOf[x.owner[w]]; {
	case owner == none:
	case x.pinOf[int32(w)] == m.To && x.mayRun(int32(w), owner):
		m.Reason = Pin
	case newest != nil && newest.has(to) && x.inst[owner].Phase == Draining:
		m.Reason = Rollout
	default:
		m.Reason = Evict
	}
	return m
}

// why says why a workload was not placed.
func (x *Index) why(w int) string {
	if lack := x.lacking[x.sel[w]]; lack != "" {
		return lack
	}
	if x.policy.Hold != "" {
		return "placing is on hold: " + x.policy.Hold
	}
	return "the assigner chose no instance that may run it"
}

// hold answers the plan of Policy.Hold, which every assigner obeys.
func (x *Index) hold() (Plan, bool) {
	if x.policy.Hold == "" {
		return Plan{}, false
	}
	at := x.positions()
	return x.finish(at, outcome{place: at, frozen: x.policy.Hold}), true
}

// planInput is Plan for an assigner that plans from an Index.
func planInput(a Indexed, in Input) (Plan, error) {
	x, err := NewIndex(in)
	if err != nil {
		return Plan{}, err
	}
	return a.PlanIndex(x)
}
