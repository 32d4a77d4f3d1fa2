package assigner_test

import (
	"strings"
	"testing"

	"github.com/tenure-go/tenure/assigner"
)

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	members := fleet("a", "b", "c")
	members[2].Phase = assigner.Draining
	in := assigner.Input{Workloads: works(3), Instances: members}
	in.Workloads[2].Requires = "gpu"
	for _, c := range []struct {
		name, want string
		spoil      func(*assigner.Plan)
	}{
		{"lost workload", "missing or out of order", func(p *assigner.Plan) { p.Targets = p.Targets[1:] }},
		{"wrong order", "missing or out of order", func(p *assigner.Plan) { p.Targets[0], p.Targets[1] = p.Targets[1], p.Targets[0] }},
		{"double target", "doubled or out of order", func(p *assigner.Plan) { p.Targets = append(p.Targets, p.Targets[1]) }},
		{"both placed and not", "both placed and unplaceable", func(p *assigner.Plan) { p.Targets = append(p.Targets, assigner.Target{Key: "w02", Instance: "a"}) }},
		{"double unplaceable", "doubled or out of order", func(p *assigner.Plan) { p.Unplaceable = append(p.Unplaceable, p.Unplaceable[0]) }},
		{"no reason for unplaceable", "without a reason", func(p *assigner.Plan) { p.Unplaceable[0].Why = "" }},
		{"unknown instance", "not in the input", func(p *assigner.Plan) { p.Targets[0].Instance = "z" }},
		{"draining instance", "may not run", func(p *assigner.Plan) { p.Targets[0].Instance = "c" }},
		{"missing label", "may not run", func(p *assigner.Plan) {
			p.Targets, p.Unplaceable = append(p.Targets, assigner.Target{Key: "w02", Instance: "a"}), nil
		}},
		{"missing move", "lists 1 moves, its targets need 2", func(p *assigner.Plan) { p.Moves = p.Moves[1:] }},
		{"wrong move", "its targets need", func(p *assigner.Plan) { p.Moves[0].From = "b" }},
		{"move without a reason", "has no reason", func(p *assigner.Plan) { p.Moves[0].Reason = "" }},
		{"missing quota", "2 quotas for 3 instances", func(p *assigner.Plan) { p.Quotas = p.Quotas[1:] }},
		{"wrong count", "does not agree", func(p *assigner.Plan) { p.Quotas[0].Count++ }},
		{"wrong digest", "not that of the input", func(p *assigner.Plan) { p.Digest++ }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustPlan(t, assigner.Balanced{}, in)
			if err := assigner.Verify(in, p); err != nil {
				t.Fatalf("a sound plan: %v", err)
			}
			c.spoil(&p)
			if err := assigner.Verify(in, p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	in.Workloads[0].Key = ""
	wantInvalid(t, assigner.Verify(in, assigner.Plan{}), "workload key")
}

func TestAssemble(t *testing.T) {
	members := fleet("a", "b")
	members[1].Phase = assigner.Draining
	in := assigner.Input{Workloads: works(3), Instances: members, Owners: map[string]instanceID{"w00": "b"}}
	p, err := assigner.Assemble(in, map[string]instanceID{"w00": "a", "w01": "b", "ghost": "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := assigner.Verify(in, p); err != nil {
		t.Error(err)
	}
	wantKeys(t, p, "a", "w00")
	if len(p.Unplaceable) != 2 || len(p.Moves) != 1 || p.Moves[0].Reason != assigner.Evict {
		t.Errorf("plan %+v, want one eviction and two unplaceable", p)
	}
	_, err = assigner.Assemble(in, map[string]instanceID{"w00": "z"})
	wantInvalid(t, err, `choice for workload "w00"`)
	in.Policy.Hold = "wait"
	if p, err = assigner.Assemble(in, map[string]instanceID{"w00": "a"}); err != nil || len(p.Targets) != 0 {
		t.Errorf("on hold: %+v, %v", p, err)
	}
	in.Policy.Budget = -1
	_, err = assigner.Assemble(in, nil)
	wantInvalid(t, err, "Policy.Budget")
}
