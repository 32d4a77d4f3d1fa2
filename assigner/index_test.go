package assigner_test

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenure-go/tenure/assigner"
)

// TestIndexAnswersLikeAFreshOne changes everything that an index can be told and compares each plan
// with that of the same input from scratch.
func TestIndexAnswersLikeAFreshOne(t *testing.T) {
	assigners := []assigner.Indexed{assigner.Sticky{}, assigner.Weighted{}, assigner.Rendezvous{CapPercent: 110}, assigner.Partition{Count: 9}, assigner.Balanced{}, assigner.Primary{Rollout: true}}
	rapid.Check(t, func(t *rapid.T) {
		s := shape{workloads: 30, instances: 6, owners: true, capacities: true, labels: true, phases: true}
		in := drawFleet(t, s)
		x, err := assigner.NewIndex(in)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			a := rapid.SampledFrom(assigners).Draw(t, "assigner")
			got, err := a.PlanIndex(x)
			if err != nil {
				t.Fatal(err)
			}
			want, err := a.Plan(in)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%T from the index:\n%+v\nfresh:\n%+v", a, got, want)
			}
			changeIndex(t, s, x, &in, got)
		}
	})
}

func changeIndex(t *rapid.T, s shape, x *assigner.Index, in *assigner.Input, p assigner.Plan) {
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		in.Instances = drawFleet(t, s).Instances
		must(x.SetInstances(in.Instances))
	case 1:
		other := drawFleet(t, s)
		in.Owners = other.Owners
		x.SetOwners(in.Owners)
	case 2:
		other := drawFleet(t, s)
		in.InFlight = other.InFlight
		x.SetInFlight(in.InFlight)
	case 3:
		in.Policy = assigner.Policy{Budget: rapid.IntRange(0, 3).Draw(t, "budget"), CoolDown: []string{"w1", "w3"}}
		must(x.SetPolicy(in.Policy))
	case 4:
		x.Adopt(p)
		owners := map[string]instanceID{}
		flights := map[string]instanceID{}
		for _, w := range in.Workloads {
			if id, ok := p.Target(w.Key); ok {
				owners[w.Key] = id
				continue
			}
			owners[w.Key], flights[w.Key] = in.Owners[w.Key], in.InFlight[w.Key]
		}
		in.Owners, in.InFlight = owners, flights
	case 5:
		for i := range in.Workloads {
			in.Workloads[i].Weight = rapid.IntRange(0, 5).Draw(t, "new weight")
			must(x.SetWeight(in.Workloads[i].Key, in.Workloads[i].Weight))
		}
	}
}

func TestIndexRefusesBadChangesAndStaysAsItWas(t *testing.T) {
	in := assigner.Input{Workloads: works(3), Instances: fleet("a", "b")}
	x, err := assigner.NewIndex(in)
	if err != nil {
		t.Fatal(err)
	}
	wantInvalid(t, x.SetInstances(append(fleet("c"), assigner.Instance{})), "instance ID")
	wantInvalid(t, x.SetPolicy(assigner.Policy{Budget: -1}), "Policy.Budget")
	wantInvalid(t, x.SetWeight("unknown", 1), "workload key")
	wantInvalid(t, x.SetWeight("w00", -1), `weight of workload "w00"`)
	got, err := assigner.Sticky{}.PlanIndex(x)
	if err != nil {
		t.Fatal(err)
	}
	if want := mustPlan(t, assigner.Sticky{}, in); !reflect.DeepEqual(got, want) {
		t.Errorf("after refused changes:\n%+v\nwant:\n%+v", got, want)
	}
}

// TestIndexOutlivesManyGenerations replaces all instances often enough to make the index forget
// the old ones, and checks that owners survive it.
func TestIndexOutlivesManyGenerations(t *testing.T) {
	in := assigner.Input{Workloads: works(20), Instances: fleet("a", "b")}
	x, err := assigner.NewIndex(in)
	if err != nil {
		t.Fatal(err)
	}
	for generation := range 200 {
		for _, a := range []assigner.Indexed{assigner.Sticky{}, assigner.Rendezvous{}} {
			p, err := a.PlanIndex(x)
			if err != nil {
				t.Fatal(err)
			}
			x.Adopt(p)
			in.Owners = p.Owners()
			members := fleet(in.Instances[1].ID, instanceID(fmt.Sprintf("g%d-%T", generation, a)))
			in.Instances = members
			if err := x.SetInstances(members); err != nil {
				t.Fatal(err)
			}
			got, err := a.PlanIndex(x)
			if err != nil {
				t.Fatal(err)
			}
			if want := mustPlan(t, a, in); !reflect.DeepEqual(got, want) {
				t.Fatalf("generation %d: from the index:\n%+v\nfresh:\n%+v", generation, got, want)
			}
		}
	}
}

func TestIndexSharesNoMemoryWithTheInput(t *testing.T) {
	in := assigner.Input{Workloads: works(4), Instances: fleet("a", "b")}
	in.Instances[0].Labels = map[string]string{"gpu": ""}
	in.Workloads[0].Requires = "gpu"
	x, err := assigner.NewIndex(in)
	if err != nil {
		t.Fatal(err)
	}
	want, err := assigner.Sticky{}.PlanIndex(x)
	if err != nil {
		t.Fatal(err)
	}
	in.Workloads[1].Key, in.Instances[1].ID = "zz", "zz"
	delete(in.Instances[0].Labels, "gpu")
	if got, err := (assigner.Sticky{}).PlanIndex(x); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the plan changed with the input: %+v, %v", got, err)
	}
}
