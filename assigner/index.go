package assigner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// none stands for no instance, no owner and no class.
const none int32 = -1

// Index is an input that has been checked, sorted and hashed, to be planned again and again: a
// planner of a large fleet keeps one, tells it what changed, and pays for the change alone. It
// shares no memory with the input that it was made of. It is not safe for concurrent use.
type Index struct {
	work   []Workload // ordered by key
	hash   []uint64   // of the keys
	sel    []int32    // selector of each workload, an index into selectors
	group  []int32    // number of its group, in the order of first keys, or none
	owner  []int32    // who holds it, an index into names
	flight []int32    // target of the move under way, an index into names
	cool   []bool     // may not be levelled now

	groups    int // how many groups there are
	selectors []Selector
	parsed    [][]requirement

	names  []instance.ID // every ID ever mentioned; only grows
	nameOf map[instance.ID]int32
	instOf []int32 // name -> instance, or none

	inst      []Instance // ordered by ID
	instName  []int32    // instance -> name
	instHash  []uint64
	joinOrder []int32 // instances by join time, then ID
	rank      []int32 // order of dealing: zones take turns
	policy    Policy

	match   []bitset // selector -> instances whose labels match, draining ones included
	classes []class
	classOf []int32 // workload -> class, or none
	lacking []string

	hrw hrwCache
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
	owner, flight := x.lookUp(in.Workloads, in.Owners), x.lookUp(in.Workloads, in.InFlight)
	for at, from := range order {
		x.owner[at], x.flight[at] = owner[from], flight[from]
	}
	if err := x.SetPolicy(in.Policy); err != nil {
		return nil, err
	}
	return x, nil
}

// setWorkloads returns the positions in list in the order of keys.
func (x *Index) setWorkloads(list []Workload) ([]int32, error) {
	n := len(list)
	hash := make([]uint64, n)
	for i := range list {
		if err := list[i].check(); err != nil {
			return nil, err
		}
		hash[i] = Hash(list[i].Key)
	}
	order, err := sortedByKey(list)
	if err != nil {
		return nil, err
	}
	x.work, x.hash, x.sel, x.group = make([]Workload, n), make([]uint64, n), make([]int32, n), make([]int32, n)
	x.owner, x.flight, x.cool, x.classOf = make([]int32, n), make([]int32, n), make([]bool, n), make([]int32, n)
	seen, groups := map[Selector]int32{}, map[string]int32{}
	for at, from := range order {
		w := list[from]
		sel, err := x.selector(w.Requires, seen)
		if err != nil {
			return nil, err
		}
		x.work[at], x.hash[at], x.sel[at], x.group[at] = w, hash[from], sel, groupNumber(w.Group, groups)
	}
	x.groups = len(groups)
	return order, nil
}

func groupNumber(name string, seen map[string]int32) int32 {
	if name == "" {
		return none
	}
	at, ok := seen[name]
	if !ok {
		at = int32(len(seen))
		seen[name] = at
	}
	return at
}

func (x *Index) selector(s Selector, seen map[Selector]int32) (int32, error) {
	if n := len(x.selectors); n > 0 && x.selectors[n-1] == s {
		return int32(n - 1), nil
	}
	if at, ok := seen[s]; ok {
		return at, nil
	}
	rs, err := s.parse()
	if err != nil {
		return none, err
	}
	at := int32(len(x.selectors))
	x.selectors, x.parsed, seen[s] = append(x.selectors, s), append(x.parsed, rs), at
	return at, nil
}

// SetInstances replaces the members of the fleet. Owners keep their workloads by name: one that is
// left out makes orphans, and one that comes back under the same ID has them again.
func (x *Index) SetInstances(list []Instance) error {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for i, in := range sorted {
		if err := in.check(); err != nil {
			return err
		}
		if i > 0 && sorted[i-1].ID == in.ID {
			return fault.Invalid("instance ID", string(in.ID), "occurs twice; IDs must be unique")
		}
	}
	x.inst = sorted
	x.instName, x.instHash = make([]int32, len(sorted)), make([]uint64, len(sorted))
	for i := range x.instOf {
		x.instOf[i] = none
	}
	for i := range sorted {
		sorted[i].Labels = cloneLabels(sorted[i].Labels)
		name := x.name(sorted[i].ID)
		x.instName[i], x.instOf[name], x.instHash[i] = name, int32(i), Hash(string(sorted[i].ID))
	}
	x.joinOrder = identity(len(sorted))
	slices.SortFunc(x.joinOrder, func(a, b int32) int {
		return cmp.Or(sorted[a].JoinedAt.Compare(sorted[b].JoinedAt), cmp.Compare(a, b))
	})
	x.rank = zoneRanks(sorted)
	x.classify()
	return nil
}

// SetOwners replaces who holds what. Keys that are no workload's are ignored.
func (x *Index) SetOwners(owners map[string]instance.ID) { x.owner = x.lookUp(x.work, owners) }

// SetInFlight replaces the targets of the moves under way.
func (x *Index) SetInFlight(targets map[string]instance.ID) { x.flight = x.lookUp(x.work, targets) }

// lookUp returns the names that the map has for the workloads.
func (x *Index) lookUp(list []Workload, in map[string]instance.ID) []int32 {
	names := make([]int32, len(list))
	for i := range names {
		names[i] = none
		if len(in) == 0 {
			continue
		}
		if id := in[list[i].Key]; id != "" {
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
		if at, ok := x.find(key); ok {
			x.cool[at] = true
		}
	}
	x.policy = p
	x.policy.CoolDown = nil
	return nil
}

// Adopt takes the plan's targets for the owners, as if all its moves had ended. A target of a
// workload or an instance that the index does not know is ignored.
func (x *Index) Adopt(p Plan) {
	at := 0
	for _, t := range p.Targets {
		for at < len(x.work) && x.work[at].Key != t.Key && x.work[at].Key < t.Key {
			at++
		}
		if at == len(x.work) || x.work[at].Key != t.Key {
			continue
		}
		x.flight[at] = none
		if o := x.owner[at]; o == none || x.names[o] != t.Instance {
			x.owner[at] = x.name(t.Instance)
		}
		at++
	}
}

func (x *Index) find(key string) (int, bool) {
	return slices.BinarySearchFunc(x.work, key, func(w Workload, key string) int { return strings.Compare(w.Key, key) })
}

func (x *Index) name(id instance.ID) int32 {
	if at, ok := x.nameOf[id]; ok {
		return at
	}
	at := int32(len(x.names))
	x.names, x.instOf, x.nameOf[id] = append(x.names, id), append(x.instOf, none), at
	return at
}
