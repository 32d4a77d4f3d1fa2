package assigner

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

func identity(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}

func cloneLabels(m map[string]string) map[string]string { return maps.Clone(m) }

// sortedByKey returns the positions of the workloads in the order of their keys. Keys of one fleet
// usually share a prefix; comparing the eight bytes behind it as one number settles nearly every
// comparison without touching the strings, which makes the sort about three times as fast.
func sortedByKey(list []Workload) []int32 {
	type entry struct {
		head uint64
		at   int32
	}
	skip := commonPrefix(list)
	entries := make([]entry, len(list))
	sorted := true
	for i := range list {
		entries[i] = entry{head(list[i].Key[skip:]), int32(i)}
		sorted = sorted && (i == 0 || list[i-1].Key <= list[i].Key)
	}
	if !sorted {
		slices.SortFunc(entries, func(a, b entry) int {
			if a.head != b.head {
				return cmp.Compare(a.head, b.head)
			}
			return strings.Compare(list[a.at].Key, list[b.at].Key)
		})
	}
	order := make([]int32, len(list))
	for i, e := range entries {
		order[i] = e.at
	}
	return order
}

func commonPrefix(list []Workload) int {
	if len(list) == 0 {
		return 0
	}
	first := list[0].Key
	n := len(first)
	for _, w := range list[1:] {
		n = min(n, len(w.Key))
		for n > 0 && w.Key[:n] != first[:n] {
			n--
		}
	}
	return n
}

// head packs the first eight bytes, in an order that agrees with strings.Compare.
func head(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

// zoneRanks gives each instance its turn in dealing: zones take turns, and inside a zone the order
// of IDs holds. So whatever is left over after equal shares is spread over the zones.
func zoneRanks(sorted []Instance) []int32 {
	turn := make([]int32, len(sorted))
	seen := map[string]int32{}
	for i, in := range sorted {
		turn[i] = seen[in.Zone]
		seen[in.Zone]++
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
