package assigner

import (
	"math"
	"testing"
)

func TestDistanceIsTheLogarithm(t *testing.T) {
	table := logTable()
	for n := range uint64(10_000) {
		h := finalise(n)
		if n%2 == 0 {
			h = ^(h >> (n % 48)) // near the top, where winners are
		}
		got := float64(distance(h, table)) / (1 << logBits)
		want := -math.Log1p(-(float64(^h)+1)/(1<<64)) / math.Ln2
		if math.Abs(got-want) > 2e-4*want+1e-13 {
			t.Fatalf("distance of %#x is %v, want %v", h, got, want)
		}
	}
}

func TestDistanceNeverGrowsWithTheHash(t *testing.T) {
	table := logTable()
	check := func(lower, higher uint64) {
		if distance(lower, table) < distance(higher, table) {
			t.Fatalf("distance of %#x is below that of the larger %#x", lower, higher)
		}
	}
	for n := range uint64(100_000) {
		h := finalise(n) >> (n % 64)
		check(h, h+1)
		check(h>>20<<20, h>>20<<20+1<<20)
	}
	for k := range uint64(64) {
		check(1<<k-1, 1<<k)
	}
	check(0, 1)
	check(math.MaxUint64-1, math.MaxUint64)
}
