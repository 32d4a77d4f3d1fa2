package assigner

import (
	"slices"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// none stands for no instance, no owner and no class.
const none int32 = -1

// Index is an input that has been checked, sorted and hashed, to be planned again and again: a
// planner of a large fleet keeps one, tells it what changed, and pays for the change alone. It
// shares no memory with the input that it was made of, strings apart. It is not safe for
// concurrent use.
type Index struct {
	// Workloads, ordered by key.
	key    []string
	hash   []uint64
	weight []int64
	static []uint64 // digest of what a workload is, without its weight and owner
	sel    []int32  // number of its selector
	group  []int32  // number of its group, or none
	owner  []int32  // name of who holds it, or none
	flight []int32  // name of the target of the move under way, or none
	cool   []bool   // it may not be levelled now

	pinOf     map[int32]instance.ID // workloads that are pinned
	groups    int                   // how many groups there are
	selectors []Selector            // sorted, so that their numbers depend on nothing else
	parsed    [][]requirement

	// Names are instance IDs, living or not, as numbers.
	names    []instance.ID
	nameHash []uint64
	nameOf   map[instance.ID]int32
	instOf   []int32 // name -> instance, or none

	// Instances, ordered by ID.
	inst      []Instance
	active    []bool
	capacity  []int64
	instName  []int32
	instHash  []uint64
	rank      []int32 // order of dealing: zones take turns
	joinOrder []int32 // instances by join time, then ID

	policy Policy

	// What follows from all that.
	match   []bitset // selector -> instances whose labels match, draining ones included
	lacking []string // selector -> why no instance can take its workloads, or empty
	classes []class
	classOf []int32 // workload -> class, or none
	hrw     hrwCache
}

// NewIndex checks and indexes an input. It costs O(n log n); an error matches lease.ErrInvalid and
// names the duplicate, empty or malformed key, ID or field.
func NewIndex(in Input) (*Index, error) {
	x := &Index{nameOf: make(map[instance.ID]int32, len(in.Instances))}
	order, err := x.setWorkloads(in.Workloads)
	if err != nil {
		return nil, err
	}
	if err := x.SetInstances(in.Instances); err != nil {
		return nil, err
	}
	// Looking up in the order of the input and sorting the numbers is kinder to the caches than
	// looking up in the order of keys.
	keyOf := func(i int) string { return in.Workloads[i].Key }
	owner, flight := x.lookUp(keyOf, in.Owners), x.lookUp(keyOf, in.InFlight)
	for at, from := range order {
		x.owner[at], x.flight[at] = owner[from], flight[from]
	}
	if err := x.SetPolicy(in.Policy); err != nil {
		return nil, err
	}
	return x, nil
}

// SetOwners replaces who holds what. Keys that are no workload's are ignored.
func (x *Index) SetOwners(owners map[string]instance.ID) {
	x.owner = x.lookUp(func(w int) string { return x.key[w] }, owners)
}

// SetInFlight replaces the targets of the moves under way.
func (x *Index) SetInFlight(targets map[string]instance.ID) {
	x.flight = x.lookUp(func(w int) string { return x.key[w] }, targets)
}

// lookUp returns the names that the map has for the keys.
func (x *Index) lookUp(keyOf func(int) string, in map[string]instance.ID) []int32 {
	names := make([]int32, len(x.key))
	for i := range names {
		names[i] = none
		if len(in) == 0 {
			continue
		}
		if id := in[keyOf(i)]; id != "" {
			names[i] = x.name(id)
		}
	}
	return names
}

// SetPolicy replaces the policy. It refuses a negative budget.
func (x *Index) SetPolicy(p Policy) error {
	if err := p.check(); err != nil {
		return err
	}
	clear(x.cool)
	for _, key := range p.CoolDown {
		if w, ok := slices.BinarySearch(x.key, key); ok {
			x.cool[w] = true
		}
	}
	x.policy = p
	x.policy.CoolDown = nil
	return nil
}

// SetWeight changes the weight of one workload, 0 meaning 1. It refuses an unknown key and a weight
// that is out of range.
func (x *Index) SetWeight(key string, weight int) error {
	w, ok := slices.BinarySearch(x.key, key)
	if !ok {
		return fault.Invalid("workload key", key, "must be one of the index's workloads; make a new index where workloads come or go")
	}
	changed := Workload{Key: key, Weight: weight}
	if err := changed.check(); err != nil {
		return err
	}
	x.weight[w] = changed.weight()
	return nil
}

// Adopt takes the plan's targets for the owners, as if all its moves had ended. A target of a
// workload that the index does not know is ignored.
func (x *Index) Adopt(p Plan) {
	w := 0
	for i := range p.Targets {
		t := &p.Targets[i]
		if w == len(x.key) || x.key[w] != t.Key { // nearly always it is the next one
			for w < len(x.key) && x.key[w] < t.Key {
				w++
			}
			if w == len(x.key) || x.key[w] != t.Key {
				continue
			}
		}
		x.flight[w] = none
		if o := x.owner[w]; o == none || x.names[o] != t.Instance {
			x.owner[w] = x.name(t.Instance)
		}
		w++
	}
}
