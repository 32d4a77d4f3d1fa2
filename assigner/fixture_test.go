package assigner_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// works makes n workloads named w00, w01, ...
func works(n int) []assigner.Workload {
	list := make([]assigner.Workload, n)
	for i := range list {
		list[i].Key = fmt.Sprintf("w%02d", i)
	}
	return list
}

// fleet makes instances that joined one second after the other, in the order of the arguments.
func fleet(ids ...instance.ID) []assigner.Instance {
	list := make([]assigner.Instance, len(ids))
	for i, id := range ids {
		list[i] = assigner.Instance{ID: id, JoinedAt: epoch.Add(time.Duration(i) * time.Second)}
	}
	return list
}

func mustPlan(t testing.TB, a assigner.Assigner, in assigner.Input) assigner.Plan {
	t.Helper()
	p, err := a.Plan(in)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	return p
}

func wantKeys(t *testing.T, p assigner.Plan, id instance.ID, keys ...string) {
	t.Helper()
	if got := p.For(id); !slices.Equal(got, keys) {
		t.Errorf("%s gets %v, want %v", id, got, keys)
	}
}

func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var invalid *fault.InvalidError
	if !errors.Is(err, assigner.ErrInvalid) || !errors.As(err, &invalid) {
		t.Fatalf("error %v, want one that matches assigner.ErrInvalid", err)
	}
	if invalid.Field != field {
		t.Errorf("error %q names %q, want %q", err, invalid.Field, field)
	}
}
