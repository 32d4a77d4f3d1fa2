package assigner_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
)

func TestDigestCoversEveryInput(t *testing.T) {
	fresh := func() assigner.Input {
		return assigner.Input{
			Workloads: works(3), Instances: fleet("a", "b"),
			Owners: map[string]instanceID{"w00": "a"}, InFlight: map[string]instanceID{"w01": "a"},
		}
	}
	seen := map[assigner.Digest]string{mustPlan(t, assigner.Balanced{}, fresh()).Digest: "nothing"}
	for name, change := range map[string]func(*assigner.Input){
		"key":             func(in *assigner.Input) { in.Workloads[2].Key = "w03" },
		"weight":          func(in *assigner.Input) { in.Workloads[0].Weight = 2 },
		"weights swapped": func(in *assigner.Input) { in.Workloads[1].Weight = 2 },
		"group":           func(in *assigner.Input) { in.Workloads[0].Group = "g" },
		"pin":             func(in *assigner.Input) { in.Workloads[0].Pin = "a" },
		"requires":        func(in *assigner.Input) { in.Workloads[0].Requires = "!a" },
		"fewer workloads": func(in *assigner.Input) { in.Workloads = in.Workloads[:2] },
		"instance":        func(in *assigner.Input) { in.Instances[0].ID = "c" },
		"joined":          func(in *assigner.Input) { in.Instances[0].JoinedAt = epoch.Add(time.Nanosecond) },
		"capacity":        func(in *assigner.Input) { in.Instances[0].Capacity = 2 },
		"zone":            func(in *assigner.Input) { in.Instances[0].Zone = "z" },
		"version":         func(in *assigner.Input) { in.Instances[0].Version = "z" },
		"phase":           func(in *assigner.Input) { in.Instances[0].Phase = assigner.Suspect },
		"label":           func(in *assigner.Input) { in.Instances[0].Labels = map[string]string{"a": "b"} },
		"label turned":    func(in *assigner.Input) { in.Instances[0].Labels = map[string]string{"b": "a"} },
		"owner":           func(in *assigner.Input) { in.Owners["w00"] = "b" },
		"dead owner":      func(in *assigner.Input) { in.Owners["w00"] = "gone" },
		"no owner":        func(in *assigner.Input) { delete(in.Owners, "w00") },
		"flight":          func(in *assigner.Input) { in.InFlight["w01"] = "b" },
		"flight landed":   func(in *assigner.Input) { in.Owners["w01"], in.InFlight = "a", nil },
		"hold":            func(in *assigner.Input) { in.Policy.Hold = "x" },
		"freeze":          func(in *assigner.Input) { in.Policy.Freeze = "x" },
		"across versions": func(in *assigner.Input) { in.Policy.AcrossVersions = true },
		"budget":          func(in *assigner.Input) { in.Policy.Budget = 1 },
		"cool-down":       func(in *assigner.Input) { in.Policy.CoolDown = []string{"w00"} },
		"other cool-down": func(in *assigner.Input) { in.Policy.CoolDown = []string{"w01"} },
	} {
		in := fresh()
		change(&in)
		d := mustPlan(t, assigner.Balanced{}, in).Digest
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[d] = name
	}
}

func TestDigestText(t *testing.T) {
	b, err := json.Marshal(assigner.Digest(0xab))
	if err != nil || string(b) != `"00000000000000ab"` {
		t.Errorf("encoded %s, %v", b, err)
	}
	var d assigner.Digest
	if err := json.Unmarshal(b, &d); err != nil || d != 0xab {
		t.Errorf("decoded %v, %v", d, err)
	}
	for _, bad := range []string{`""`, `"ab"`, `"00000000000000ab0"`, `"00000000000000xb"`} {
		if err := json.Unmarshal([]byte(bad), &d); err == nil {
			t.Errorf("%s decoded to %v", bad, d)
		}
	}
}
