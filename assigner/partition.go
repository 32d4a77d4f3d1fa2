package assigner

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// Partition puts every workload into one of a fixed number of partitions by the hash of its key,
// and gives the partitions that are in use to the instances as Sticky does: evenly, and with the
// fewest moves of partitions. The zero value works.
//
// Workloads of one partition stay together (those with different Requires or Pin apart), and a new
// workload starts where its partition is. The number of workloads per instance varies, since
// partitions differ in size; prefer Sticky unless keys are to be found by partition.
//
// A partition counts as being where most of its workloads are. Capacity, zones, rollouts and the
// policy work as with Sticky; Budget counts partitions, and one workload in its cool-down or on its
// way keeps its partition. Weight and Group are not looked at.
type Partition struct {
	// Count is how many partitions there are, from 1 to 1 000 000; zero means 10 000. It must be the
	// same for everyone who plans or asks Of, and changing it moves nearly everything.
	Count int
}

const (
	defaultPartitions = 10_000
	maxPartitions     = 1_000_000
)

// Of returns the partition of a key, from 0 to Count-1.
func (a Partition) Of(key string) int { return int(Hash(key) % uint64(a.count())) }

func (a Partition) count() int {
	if a.Count <= 0 {
		return defaultPartitions
	}
	return a.Count
}

// Plan implements Assigner.
func (a Partition) Plan(in Input) (Plan, error) { return planInput(a, in) }

// HeedsOwners implements Indexed: they do.
func (Partition) HeedsOwners() bool { return true }

// PlanIndex implements Indexed.
func (a Partition) PlanIndex(x *Index) (Plan, error) {
	if a.Count < 0 || a.Count > maxPartitions {
		return Plan{}, fault.Invalid("Partition.Count", a.Count, fmt.Sprintf("must be between 1 and %d, or 0 for %d", maxPartitions, defaultPartitions))
	}
	if p, held := x.hold(); held {
		return p, nil
	}
	at := x.positions()
	units := a.unitsOf(x)
	y, err := x.indexUnits(units, at)
	if err != nil {
		return Plan{}, err
	}
	var o outcome
	unitAt := y.positions()
	if why := y.frozen(); why != "" {
		o = y.placeOnly(unitAt, why, false)
	} else {
		o = y.level(unitAt)
	}
	place := make([]int32, len(x.key))
	for w, u := range units.of {
		place[w] = o.place[u]
		if o.frozen != "" && at[w] != none {
			place[w] = at[w] // strays join their partition when levelling is free again
		}
	}
	return x.finish(at, outcome{place: place, frozen: o.frozen, deferred: o.deferred, newest: o.newest}), nil
}

// units are the parts of partitions that move as one.
type units struct {
	list []Workload
	of   []int32 // workload -> unit, in the order of the units' keys
}

// unitsOf finds the units: workloads of one partition that are restricted alike.
func (a Partition) unitsOf(x *Index) units {
	type identity struct {
		partition uint64
		sel       int32
		pin       instance.ID
	}
	u := units{of: make([]int32, len(x.key))}
	number := map[identity]int32{}
	for w := range x.key {
		id := identity{x.hash[w] % uint64(a.count()), x.sel[w], x.pinOf[int32(w)]}
		n, ok := number[id]
		if !ok {
			n = int32(len(u.list))
			unit := Workload{Key: strconv.FormatUint(id.partition, 10), Requires: x.selectors[id.sel], Pin: id.pin}
			u.list, number[id] = append(u.list, unit), n
		}
		u.of[w] = n
	}
	return u.sorted()
}

// sorted gives the units unique keys and brings them into the order that an index has.
func (u units) sorted() units {
	for n := range u.list {
		unit := &u.list[n]
		if unit.Requires != "" || unit.Pin != "" {
			unit.Key += fmt.Sprintf(" %016x", fold(Hash(string(unit.Requires)), Hash(string(unit.Pin))))
		}
	}
	order := identity(len(u.list))
	slices.SortFunc(order, func(a, b int32) int { return compareKeys(u.list[a], u.list[b]) })
	moved := make([]int32, len(order))
	list := make([]Workload, len(order))
	for at, from := range order {
		moved[from], list[at] = int32(at), u.list[from]
	}
	for w, n := range u.of {
		u.of[w] = moved[n]
	}
	u.list = list
	return u
}

// indexUnits makes an index of the units, each owned by the instance that has most of it.
func (x *Index) indexUnits(u units, at []int32) (*Index, error) {
	policy := x.policy
	placed := make([][]int32, len(u.list)) // unit -> where its workloads are
	size := make([]int32, len(u.list))
	for _, n := range u.of {
		size[n]++
	}
	room := make([]int32, len(u.of))
	for n := range placed {
		placed[n], room = room[:0:size[n]], room[size[n]:]
	}
	for w, n := range u.of {
		if x.cool[w] || x.flight[w] != none {
			policy.CoolDown = append(policy.CoolDown, u.list[n].Key)
		}
		if at[w] != none {
			placed[n] = append(placed[n], at[w])
		}
	}
	owners := make(map[string]instance.ID, len(u.list))
	for n, where := range placed {
		if i := mostCommon(where); i != none {
			owners[u.list[n].Key] = x.inst[i].ID
		}
	}
	return NewIndex(Input{Workloads: u.list, Instances: x.inst, Owners: owners, Policy: policy})
}

// mostCommon returns the instance that occurs most often, the one with the smallest ID of several,
// or none. It sorts the list.
func mostCommon(list []int32) int32 {
	slices.Sort(list)
	best, most := none, 0
	for begin := 0; begin < len(list); {
		end := begin
		for end < len(list) && list[end] == list[begin] {
			end++
		}
		if end-begin > most {
			best, most = list[begin], end-begin
		}
		begin = end
	}
	return best
}
