package assigner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenure-go/tenure/assigner"
)

func TestHeadNewer(t *testing.T) {
	for _, c := range []struct {
		a, b assigner.Head
		want bool
	}{
		{assigner.Head{Token: 2}, assigner.Head{Token: 1, Epoch: 9}, true},
		{assigner.Head{Token: 1, Epoch: 2}, assigner.Head{Token: 1, Epoch: 1}, true},
		{assigner.Head{Token: 1, Epoch: 1}, assigner.Head{Token: 1, Epoch: 1}, false},
		{assigner.Head{Token: 1, Epoch: 9}, assigner.Head{Token: 2}, false},
		{assigner.Head{Token: 1}, assigner.Head{}, true},
	} {
		if got := c.a.Newer(c.b); got != c.want {
			t.Errorf("%+v newer than %+v: %v", c.a, c.b, got)
		}
	}
}

func TestCheckTargets(t *testing.T) {
	head := assigner.Head{Token: 1, Planner: "p"}
	if err := assigner.CheckTargets(head, []assigner.Set{{Instance: "a", Keys: []string{"k"}}, {Instance: "b"}}, []instanceID{"c"}); err != nil {
		t.Errorf("a sound write: %v", err)
	}
	long := head
	long.History = make([]byte, assigner.MaxHistory+1)
	for _, c := range []struct {
		field string
		head  assigner.Head
		sets  []assigner.Set
		gone  []instanceID
	}{
		{"head token", assigner.Head{Planner: "p"}, nil, nil},
		{"head planner", assigner.Head{Token: 1}, nil, nil},
		{"head history", long, nil, nil},
		{"instance ID", head, []assigner.Set{{}}, nil},
		{"instance ID", head, nil, []instanceID{""}},
		{"target batch", head, numbered(1, 0), ids(assigner.MaxBatch)},
		{"target key", head, []assigner.Set{{Instance: "a", Keys: []string{""}}}, nil},
		{"target key", head, []assigner.Set{{Instance: "a", Keys: []string{strings.Repeat("k", 513)}}}, nil},
		{"target instance", head, []assigner.Set{{Instance: "a"}, {Instance: "a"}}, nil},
		{"target instance", head, []assigner.Set{{Instance: "a"}}, []instanceID{"a"}},
	} {
		wantInvalid(t, assigner.CheckTargets(c.head, c.sets, c.gone), c.field)
	}
}

// TestBatches: everything once, in order, none too long, and the head goes out even alone.
func TestBatches(t *testing.T) {
	for _, c := range []struct{ sets, keys, gone, want int }{
		{0, 0, 0, 1}, {1, 0, 0, 1}, {0, 0, 501, 2}, {500, 100, 0, 1}, {500, 1, 1, 2}, {400, 100, 200, 2}, {1000, 100, 600, 4},
		{3, 50_000, 0, 3}, {2, 200_000, 1, 2}, {1001, 0, 0, 3},
	} {
		sets, gone := numbered(c.sets, c.keys), ids(c.gone)
		var gotSets []assigner.Set
		var gotGone []instanceID
		batches := 0
		for s, g := range assigner.Batches(sets, gone) {
			if err := assigner.CheckTargets(assigner.Head{Token: 1, Planner: "p"}, s, g); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			gotSets, gotGone, batches = append(gotSets, s...), append(gotGone, g...), batches+1
		}
		sameID := func(a, b assigner.Set) bool { return a.Instance == b.Instance }
		if batches != c.want || !slices.EqualFunc(gotSets, sets, sameID) || !slices.Equal(gotGone, gone) {
			t.Errorf("%+v: %d batches of %d sets and %d gone", c, batches, len(gotSets), len(gotGone))
		}
	}
	for range assigner.Batches(numbered(1000, 0), nil) {
		break // a caller may stop early
	}
}

func numbered(n, keys int) []assigner.Set {
	sets := make([]assigner.Set, n)
	for i := range sets {
		sets[i] = assigner.Set{Instance: instanceID(fmt.Sprintf("set-%d", i)), Keys: slices.Repeat([]string{"k"}, keys)}
	}
	return sets
}

func ids(n int) []instanceID {
	ids := make([]instanceID, n)
	for i := range ids {
		ids[i] = instanceID(fmt.Sprintf("gone-%d", i))
	}
	return ids
}
