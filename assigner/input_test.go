package assigner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

type instanceID = instance.ID

func TestInvalidInputsAreNamed(t *testing.T) {
	good := func() assigner.Input { return assigner.Input{Workloads: works(2), Instances: fleet("a", "b")} }
	for _, c := range []struct {
		name, field string
		spoil       func(*assigner.Input)
	}{
		{"empty key", "workload key", func(in *assigner.Input) { in.Workloads[1].Key = "" }},
		{"long key", "workload key", func(in *assigner.Input) { in.Workloads[1].Key = strings.Repeat("k", 513) }},
		{"duplicate key", "workload key", func(in *assigner.Input) { in.Workloads[1].Key = "w00" }},
		{"negative weight", `weight of workload "w01"`, func(in *assigner.Input) { in.Workloads[1].Weight = -1 }},
		{"large weight", `weight of workload "w01"`, func(in *assigner.Input) { in.Workloads[1].Weight = assigner.MaxWeight + 1 }},
		{"bad group", `group of workload "w01"`, func(in *assigner.Input) { in.Workloads[1].Group = "\xff" }},
		{"bad pin", `pin of workload "w01"`, func(in *assigner.Input) { in.Workloads[1].Pin = "\x00" }},
		{"bad selector", "selector", func(in *assigner.Input) { in.Workloads[1].Requires = "a in (" }},
		{"empty ID", "instance ID", func(in *assigner.Input) { in.Instances[1].ID = "" }},
		{"duplicate ID", "instance ID", func(in *assigner.Input) { in.Instances[1].ID = "a" }},
		{"negative capacity", "instance capacity", func(in *assigner.Input) { in.Instances[1].Capacity = -1 }},
		{"unknown phase", "instance phase", func(in *assigner.Input) { in.Instances[1].Phase = "asleep" }},
		{"negative budget", "Policy.Budget", func(in *assigner.Input) { in.Policy.Budget = -1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := good()
			c.spoil(&in)
			_, err := assigner.Balanced{}.Plan(in)
			wantInvalid(t, err, c.field)
		})
	}
}

func TestNoUsableInstanceIsNoError(t *testing.T) {
	draining := fleet("a")
	draining[0].Phase = assigner.Draining
	needy := works(1)
	needy[0].Requires = "gpu"
	for _, c := range []struct {
		name, why string
		in        assigner.Input
	}{
		{"empty fleet", "the fleet has no live instance", assigner.Input{Workloads: works(1)}},
		{"all draining", "every instance that may run it is draining", assigner.Input{Workloads: works(1), Instances: draining}},
		{"labels missing", "no instance has the labels that it requires: gpu", assigner.Input{Workloads: needy, Instances: fleet("a")}},
		{"on hold", "placing is on hold: half the fleet vanished", assigner.Input{
			Workloads: works(1), Instances: fleet("a"), Policy: assigner.Policy{Hold: "half the fleet vanished"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustPlan(t, assigner.Balanced{}, c.in)
			if len(p.Targets) != 0 || len(p.Unplaceable) != 1 {
				t.Fatalf("plan %+v, want one unplaceable workload", p)
			}
			if got := p.Unplaceable[0]; got.Key != "w00" || got.Why != c.why {
				t.Errorf("unplaceable %+v, want w00: %s", got, c.why)
			}
		})
	}
}

func TestHeldInstancesGetNothingNewUnlessNobodyElseCan(t *testing.T) {
	members := fleet("a", "b")
	members[0].Phase = assigner.Suspect
	p := mustPlan(t, assigner.Primary{}, assigner.Input{Workloads: works(2), Instances: members})
	wantKeys(t, p, "b", "w00", "w01")
	p = mustPlan(t, assigner.Primary{}, assigner.Input{Workloads: works(2), Instances: members[:1]})
	wantKeys(t, p, "a", "w00", "w01")
}

func TestPinIsObeyedWhileItsInstanceIsActive(t *testing.T) {
	list := works(2)
	list[1].Pin = "b"
	members := fleet("a", "b")
	in := assigner.Input{Workloads: list, Instances: members, Owners: map[string]instanceID{"w00": "a", "w01": "a"}}
	p := mustPlan(t, assigner.Primary{}, in)
	wantKeys(t, p, "b", "w01")
	if len(p.Moves) != 1 || p.Moves[0].Reason != assigner.Pin {
		t.Errorf("moves %v", p.Moves)
	}
	members[1].Phase = assigner.Draining
	wantKeys(t, mustPlan(t, assigner.Primary{}, in), "a", "w00", "w01")
}

func TestHeedsOwners(t *testing.T) {
	for _, c := range []struct {
		a    assigner.Indexed
		want bool
	}{
		{assigner.Sticky{}, true}, {assigner.Weighted{}, true}, {assigner.Partition{}, true}, {assigner.Primary{Rollout: true}, true},
		{assigner.Primary{}, false}, {assigner.Rendezvous{}, false}, {assigner.Rendezvous{CapPercent: 100}, false}, {assigner.Balanced{}, false},
	} {
		in := assigner.Input{Workloads: works(5), Instances: fleet("a", "b", "c")}
		free := mustPlan(t, c.a, in)
		in.Owners = map[string]instanceID{"w00": "c", "w01": "c", "w02": "b", "w03": "b", "w04": "b"}
		if differs := !slices.Equal(free.Targets, mustPlan(t, c.a, in).Targets); c.a.HeedsOwners() != c.want || differs != c.want {
			t.Errorf("%T: HeedsOwners %v, and the targets differ: %v; want %v", c.a, c.a.HeedsOwners(), differs, c.want)
		}
	}
}
