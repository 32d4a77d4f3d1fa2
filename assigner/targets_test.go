package assigner_test

import (
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
		{"target key", head, []assigner.Set{{Instance: "a", Keys: []string{""}}}, nil},
		{"target key", head, []assigner.Set{{Instance: "a", Keys: []string{strings.Repeat("k", 513)}}}, nil},
		{"target instance", head, []assigner.Set{{Instance: "a"}, {Instance: "a"}}, nil},
		{"target instance", head, []assigner.Set{{Instance: "a"}}, []instanceID{"a"}},
	} {
		wantInvalid(t, assigner.CheckTargets(c.head, c.sets, c.gone), c.field)
	}
}
