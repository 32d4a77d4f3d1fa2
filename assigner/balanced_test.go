package assigner_test

import (
	"testing"

	"github.com/tenure-go/tenure/assigner"
)

func TestBalancedSlicesInJoinOrder(t *testing.T) {
	p := mustPlan(t, assigner.Balanced{}, assigner.Input{Workloads: works(8), Instances: fleet("z", "a", "m")})
	wantKeys(t, p, "z", "w00", "w01", "w02")
	wantKeys(t, p, "a", "w03", "w04", "w05")
	wantKeys(t, p, "m", "w06", "w07")
}

func TestBalancedBreaksEqualJoinTimesByID(t *testing.T) {
	in := assigner.Input{Workloads: works(3), Instances: []assigner.Instance{{ID: "b"}, {ID: "a"}}}
	p := mustPlan(t, assigner.Balanced{}, in)
	wantKeys(t, p, "a", "w00", "w01")
	wantKeys(t, p, "b", "w02")
}

func TestBalancedWithFewerWorkloadsThanInstances(t *testing.T) {
	p := mustPlan(t, assigner.Balanced{}, assigner.Input{Workloads: works(1), Instances: fleet("a", "b")})
	wantKeys(t, p, "a", "w00")
	wantKeys(t, p, "b")
}

func TestBalancedLeavesDrainingOut(t *testing.T) {
	members := fleet("a", "b", "c")
	members[0].Phase = assigner.Draining
	p := mustPlan(t, assigner.Balanced{}, assigner.Input{Workloads: works(4), Instances: members})
	wantKeys(t, p, "a")
	wantKeys(t, p, "b", "w00", "w01")
	wantKeys(t, p, "c", "w02", "w03")
}

func TestBalancedSlicesEachSelectorOverItsInstances(t *testing.T) {
	members := fleet("a", "b", "c")
	members[1].Labels = map[string]string{"gpu": ""}
	members[2].Labels = map[string]string{"gpu": ""}
	list := works(5)
	list[0].Requires, list[3].Requires = "gpu", "gpu"
	p := mustPlan(t, assigner.Balanced{}, assigner.Input{Workloads: list, Instances: members})
	wantKeys(t, p, "a", "w01")
	wantKeys(t, p, "b", "w00", "w02")
	wantKeys(t, p, "c", "w03", "w04")
}
