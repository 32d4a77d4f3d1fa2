package assigner_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/tenure-go/tenure/assigner"
)

// shape says which features a random fleet has.
type shape struct {
	workloads, instances       int
	capacities, labels, phases bool
	owners                     bool
}

var selectors = []assigner.Selector{"", "", "", "gpu", "!gpu", "disk in (ssd,nvme)", "disk=ssd", "gpu,disk!=hdd"}

func drawFleet(t *rapid.T, s shape) assigner.Input {
	in := assigner.Input{}
	m := rapid.IntRange(1, s.instances).Draw(t, "instances")
	for i := range m {
		in.Instances = append(in.Instances, drawInstance(t, s, fmt.Sprintf("i%d", i)))
	}
	n := rapid.IntRange(0, s.workloads).Draw(t, "workloads")
	if s.owners {
		in.Owners, in.InFlight = map[string]instanceID{}, map[string]instanceID{}
	}
	for i := range n {
		w := assigner.Workload{Key: fmt.Sprintf("w%d", i), Weight: rapid.IntRange(0, 9).Draw(t, "weight")}
		if s.labels {
			w.Requires = rapid.SampledFrom(selectors).Draw(t, "requires")
			w.Pin = instanceID(rapid.SampledFrom([]string{"", "", "", "", "", "i0", "i1", "gone"}).Draw(t, "pin"))
			w.Group = rapid.SampledFrom([]string{"", "", "red", "blue"}).Draw(t, "group")
		}
		if s.owners {
			drawOwner(t, s, in, w.Key, m)
		}
		in.Workloads = append(in.Workloads, w)
	}
	return in
}

func drawInstance(t *rapid.T, s shape, id string) assigner.Instance {
	in := assigner.Instance{ID: instanceID(id), JoinedAt: epoch.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "joined")) * time.Second)}
	in.Zone = rapid.SampledFrom([]string{"", "east", "west"}).Draw(t, "zone")
	if s.capacities {
		in.Capacity = rapid.IntRange(0, 4).Draw(t, "capacity")
	}
	if s.labels {
		in.Labels = map[string]string{}
		if rapid.Bool().Draw(t, "gpu") {
			in.Labels["gpu"] = ""
		}
		if disk := rapid.SampledFrom([]string{"", "ssd", "nvme", "hdd"}).Draw(t, "disk"); disk != "" {
			in.Labels["disk"] = disk
		}
	}
	if s.phases {
		in.Phase = rapid.SampledFrom([]assigner.Phase{"", "", "", "", assigner.Draining, assigner.Suspect, assigner.Joining}).Draw(t, "phase")
	}
	return in
}

// drawOwner gives a workload an owner, mostly a skewed choice of the living.
func drawOwner(t *rapid.T, s shape, in assigner.Input, key string, m int) {
	owner := rapid.IntRange(-2, m-1).Draw(t, "owner")
	switch owner {
	case -2:
	case -1:
		in.Owners[key] = "gone"
	default:
		in.Owners[key] = in.Instances[owner].ID
	}
	if s.phases && rapid.IntRange(0, 5).Draw(t, "flying") == 0 {
		in.InFlight[key] = instanceID(fmt.Sprintf("i%d", rapid.IntRange(0, m).Draw(t, "target")))
	}
}
