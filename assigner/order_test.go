package assigner

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSortedByKeyIsTheOrderOfStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{"", "tenant/", "ü"}).Draw(t, "prefix")
		keys := rapid.SliceOfDistinct(rapid.OneOf(
			rapid.StringMatching(`[ab]{0,3}`),
			rapid.StringMatching(`same-eight-bytes-[0-9]{1,3}`),
			rapid.String(),
		), rapid.ID).Draw(t, "keys")
		list := make([]Workload, len(keys))
		for i := range keys {
			list[i].Key = prefix + keys[i]
		}
		order, err := sortedByKey(list)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, len(order))
		for i, at := range order {
			got[i] = list[at].Key
		}
		if want := slices.Sorted(slices.Values(got)); len(got) != len(list) || !slices.Equal(got, want) {
			t.Fatalf("order %q, want %q", got, want)
		}
		if len(list) > 0 {
			double := rapid.SampledFrom(list).Draw(t, "double")
			if _, err := sortedByKey(slices.Concat(list, []Workload{double})); err == nil {
				t.Fatalf("%q twice is no error", double.Key)
			}
		}
	})
}

func TestSortByHashIsTheOrderOfHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOf(rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 3), rapid.Uint64Range(1<<64-3, 1<<64-1))).Draw(t, "hashes")
		list := identity(len(hashes))
		slices.Reverse(list)
		sortByHash(list, hashes)
		want := identity(len(hashes))
		slices.SortFunc(want, func(a, b int32) int { return cmp.Or(cmp.Compare(hashes[a], hashes[b]), cmp.Compare(a, b)) })
		if !slices.Equal(list, want) {
			t.Fatalf("order %v, want %v", list, want)
		}
	})
}
