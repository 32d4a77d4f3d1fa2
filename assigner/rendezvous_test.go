package assigner_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/internal/long"
)

func TestRendezvousProperties(t *testing.T) {
	everything := shape{workloads: 40, instances: 8, owners: true, capacities: true, labels: true, phases: true}
	for _, percent := range []int{0, 100, 125} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) { checkProperties(t, assigner.Rendezvous{CapPercent: percent}, everything) })
	}
}

// TestRendezvousFromAnIndexIsTheSame follows a fleet whose instances, capacities and labels
// change, and compares each plan with that of a fresh index.
func TestRendezvousFromAnIndexIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shape{workloads: 40, instances: 8, capacities: true, labels: true, phases: true}
		in := drawFleet(t, s)
		x, err := assigner.NewIndex(in)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			got, err := assigner.Rendezvous{}.PlanIndex(x)
			if err != nil {
				t.Fatal(err)
			}
			want, err := assigner.Rendezvous{}.Plan(in)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("from the index:\n%+v\nfresh:\n%+v", got, want)
			}
			in.Instances = drawFleet(t, s).Instances
			if err := x.SetInstances(in.Instances); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestRendezvousMovesToJoinersAndFromLeaversOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFleet(t, shape{workloads: 100, instances: 10, capacities: true})
		p, err := assigner.Rendezvous{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Owners = p.Owners()
		in.Instances = append(in.Instances, assigner.Instance{ID: "joiner", Capacity: rapid.IntRange(0, 4).Draw(t, "capacity")})
		joined, err := assigner.Rendezvous{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range joined.Moves {
			if m.To != "joiner" {
				t.Fatalf("a join moved %+v", m)
			}
		}
		in.Owners = joined.Owners()
		in.Instances = in.Instances[1:]
		left, err := assigner.Rendezvous{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range left.Moves {
			if m.Reason != assigner.Orphan {
				t.Fatalf("a leave moved %+v", m)
			}
		}
	})
}

func streams(n, pods int) assigner.Input {
	in := assigner.Input{}
	for i := range n {
		in.Workloads = append(in.Workloads, assigner.Workload{Key: fmt.Sprintf("stream-%d", i)})
	}
	for i := range pods {
		in.Instances = append(in.Instances, assigner.Instance{ID: instanceID(fmt.Sprintf("pod-%d", i))})
	}
	return in
}

func spreadOf(p assigner.Plan) float64 {
	most := 0
	for _, q := range p.Quotas {
		most = max(most, q.Count)
	}
	return float64(most) * float64(len(p.Quotas)) / float64(len(p.Targets))
}

func TestRendezvousSpreadsShortKeys(t *testing.T) {
	p := mustPlan(t, assigner.Rendezvous{}, streams(10_000, 10))
	if got := spreadOf(p); got > 1.05 {
		t.Errorf("max/mean %.3f over ten pods, want at most 1.05", got)
	}
	// One fleet could be luck. Random throws of 10 000 into 10 have a fullest of 1.049 on average.
	sum := 0.0
	fleets := long.Or(20, 4)
	for f := range fleets {
		in := streams(10_000, 10)
		for i := range in.Instances {
			in.Instances[i].ID = instanceID(fmt.Sprintf("f%d-%d", f, i))
		}
		sum += spreadOf(mustPlan(t, assigner.Rendezvous{}, in))
	}
	if mean := sum / float64(fleets); mean > 1.055 {
		t.Errorf("max/mean %.3f on average of %d fleets: worse than random throws", mean, fleets)
	}
}

func TestRendezvousGivesInProportionToCapacity(t *testing.T) {
	in := streams(20_000, 4)
	for i, capacity := range []int{1, 2, 3, 10} {
		in.Instances[i].Capacity = capacity
	}
	for i, q := range mustPlan(t, assigner.Rendezvous{}, in).Quotas {
		mean := 20_000 * float64(in.Instances[i].Capacity) / 16
		if off := math.Abs(float64(q.Count)-mean) / math.Sqrt(mean); off > 4 {
			t.Errorf("capacity %d gets %d, want %.0f: %.1f standard deviations off", in.Instances[i].Capacity, q.Count, mean, off)
		}
	}
}

func TestRendezvousCapHolds(t *testing.T) {
	in := streams(1_003, 10)
	in.Instances[3].Capacity = 3
	for _, percent := range []int{100, 105, 110, 125} {
		for i, q := range mustPlan(t, assigner.Rendezvous{CapPercent: percent}, in).Quotas {
			capacity := max(1, in.Instances[i].Capacity)
			if most := (1_003*capacity*percent + 12*100 - 1) / (12 * 100); q.Count > most || q.Quota != most {
				t.Errorf("cap %d: %s has %d of %d, want at most %d", percent, q.Instance, q.Count, q.Quota, most)
			}
		}
	}
}

// TestRendezvousCapNeverLeavesWorkLying has more workloads that need a gpu than the cap lets the
// only two instances with one have.
func TestRendezvousCapNeverLeavesWorkLying(t *testing.T) {
	in := streams(100, 10)
	for i := range 60 {
		in.Workloads[i].Requires = "gpu"
	}
	in.Instances[0].Labels, in.Instances[1].Labels = map[string]string{"gpu": ""}, map[string]string{"gpu": ""}
	p := mustPlan(t, assigner.Rendezvous{CapPercent: 100}, in)
	if len(p.Unplaceable) != 0 {
		t.Errorf("unplaceable: %v", p.Unplaceable)
	}
	if err := assigner.Verify(in, p); err != nil {
		t.Error(err)
	}
}

func TestRendezvousRefusesASenselessCap(t *testing.T) {
	for _, percent := range []int{-1, 1, 99, 10_001} {
		_, err := assigner.Rendezvous{CapPercent: percent}.Plan(assigner.Input{})
		wantInvalid(t, err, "Rendezvous.CapPercent")
	}
}
