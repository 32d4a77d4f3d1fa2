package assigner

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/tenure-go/tenure/internal/fault"
)

// sortedByKey returns the positions of the workloads in the order of their keys; a key that occurs
// twice is an error. Keys of one fleet usually share a prefix: comparing the eight bytes behind it
// as one number settles nearly every comparison without touching the strings.
func sortedByKey(list []Workload) ([]int32, error) {
	type entry struct {
		head uint64
		at   int32
	}
	skip := commonPrefix(list)
	entries := make([]entry, len(list))
	for i := range list {
		entries[i] = entry{head(list[i].Key[skip:]), int32(i)}
	}
	compare := func(a, b entry) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return strings.Compare(list[a.at].Key, list[b.at].Key)
	}
	if !slices.IsSortedFunc(entries, compare) {
		slices.SortFunc(entries, compare)
	}
	order := make([]int32, len(list))
	for i, e := range entries {
		if i > 0 && compare(entries[i-1], e) == 0 {
			return nil, fault.Invalid("workload key", list[e.at].Key, "occurs twice; keys must be unique")
		}
		order[i] = e.at
	}
	return order, nil
}

// sortByHash orders workloads by their hash, then number. Hashes are evenly spread, so dealing them
// out to as many buckets as there are workloads, by their highest bits, leaves next to nothing to
// sort: about a tenth of the time of a comparing sort.
func sortByHash(list []int32, hash []uint64) {
	type entry struct {
		hash uint64
		w    int32
	}
	shift := 64 - bits.Len(uint(len(list)))
	start := make([]int32, 2<<(64-shift))
	for _, w := range list {
		start[hash[w]>>shift+1]++
	}
	for b := range len(start) - 1 {
		start[b+1] += start[b]
	}
	sorted := make([]entry, len(list))
	for _, w := range list {
		b := hash[w] >> shift
		sorted[start[b]] = entry{hash[w], w}
		start[b]++
	}
	from := int32(0)
	for _, to := range start {
		if to-from > 1 {
			slices.SortFunc(sorted[from:to], func(a, b entry) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.w, b.w)) })
		}
		from = max(from, to)
	}
	for n, e := range sorted {
		list[n] = e.w
	}
}

func compareKeys(a, b Workload) int { return strings.Compare(a.Key, b.Key) }

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
