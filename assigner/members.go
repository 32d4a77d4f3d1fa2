package assigner

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// SetInstances replaces the members of the fleet. Owners keep their workloads by name: one that is
// left out makes orphans, and one that comes back under the same ID has them again.
func (x *Index) SetInstances(list []Instance) error {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for i := range sorted {
		if err := sorted[i].check(); err != nil {
			return err
		}
		if i > 0 && sorted[i-1].ID == sorted[i].ID {
			return fault.Invalid("instance ID", string(sorted[i].ID), "occurs twice; IDs must be unique")
		}
		sorted[i].Labels = maps.Clone(sorted[i].Labels)
	}
	m := len(sorted)
	x.forget(m)
	x.inst, x.active, x.capacity = sorted, make([]bool, m), make([]int64, m)
	x.instName, x.instHash = make([]int32, m), make([]uint64, m)
	for i := range x.instOf {
		x.instOf[i] = none
	}
	for i := range sorted {
		name := x.name(sorted[i].ID)
		x.instName[i], x.instOf[name], x.instHash[i] = name, int32(i), x.nameHash[name]
		x.active[i], x.capacity[i] = sorted[i].Phase == Active, sorted[i].capacity()
	}
	x.joinOrder = identity(m)
	slices.SortFunc(x.joinOrder, func(a, b int32) int {
		return cmp.Or(sorted[a].JoinedAt.Compare(sorted[b].JoinedAt), cmp.Compare(a, b))
	})
	x.rank = zoneRanks(sorted)
	x.classify()
	return nil
}

// name returns the number of an ID.
func (x *Index) name(id instance.ID) int32 {
	if at, ok := x.nameOf[id]; ok {
		return at
	}
	at := int32(len(x.names))
	x.names, x.nameHash, x.instOf = append(x.names, id), append(x.nameHash, Hash(string(id))), append(x.instOf, none)
	x.nameOf[id] = at
	return at
}

// forget drops the names that nobody refers to, once they are the majority: an index that outlives
// many generations of instances does not grow with them.
func (x *Index) forget(members int) {
	if len(x.names) < 64 || len(x.names) < 4*members {
		return
	}
	old := x.names
	x.names, x.nameHash, x.instOf, x.nameOf = nil, nil, nil, make(map[instance.ID]int32, members)
	x.hrw = hrwCache{} // it speaks in the old names
	for _, list := range [][]int32{x.owner, x.flight} {
		for w, name := range list {
			if name != none {
				list[w] = x.name(old[name])
			}
		}
	}
}

// zoneRanks gives each instance its turn in dealing: zones take turns, and inside a zone the order
// of IDs holds. So whatever is left over after equal shares is spread over the zones.
func zoneRanks(sorted []Instance) []int32 {
	turn := make([]int32, len(sorted))
	seen := map[string]int32{}
	for i := range sorted {
		turn[i] = seen[sorted[i].Zone]
		seen[sorted[i].Zone]++
	}
	order := identity(len(sorted))
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(turn[a], turn[b]), strings.Compare(sorted[a].Zone, sorted[b].Zone), cmp.Compare(a, b))
	})
	rank := make([]int32, len(sorted))
	for r, i := range order {
		rank[i] = int32(r)
	}
	return rank
}

func identity(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}
