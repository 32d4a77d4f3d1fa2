package assigner_test

import (
	"strings"
	"testing"

	"github.com/tenure-go/tenure/assigner"
)

func TestExplain(t *testing.T) {
	members := fleet("a", "b", "c", "d")
	members[2].Phase = assigner.Draining
	members[3].Phase = assigner.Suspect
	list := works(6)
	list[4].Requires = "gpu"
	list[5].Pin = "b"
	in := assigner.Input{Workloads: list, Instances: members, Owners: map[string]instanceID{
		"w00": "a", "w01": "c", "w02": "gone", "w05": "a",
	}}
	for _, c := range []struct {
		key              string
		from, to, second instanceID
		reason           assigner.Reason
		rule             string
	}{
		{"w00", "a", "a", "b", "", "a has it already and keeps it"},
		{"w01", "c", "b", "a", assigner.Evict, "its owner c is draining or may not run it any more"},
		{"w02", "gone", "a", "b", assigner.Orphan, "its owner gone is gone"},
		{"w03", "", "a", "b", assigner.Orphan, "nobody has it"},
		{"w04", "", "", "", "", "no instance has the labels that it requires: gpu"},
		{"w05", "a", "b", "a", assigner.Pin, "it is pinned to b"},
	} {
		e, err := assigner.Explain(assigner.Sticky{}, in, c.key)
		if err != nil {
			t.Fatal(err)
		}
		if e.From != c.from || e.Reason != c.reason || !strings.HasPrefix(e.Rule, c.rule) {
			t.Errorf("%s: %+v, want from %q for %q by the rule %q", c.key, e, c.from, c.reason, c.rule)
		}
		if (e.Instance == "") != (c.to == "") || e.Instance != "" && e.RunnerUp == e.Instance {
			t.Errorf("%s: on %q, then %q", c.key, e.Instance, e.RunnerUp)
		}
		if len(e.Excluded) < 2 {
			t.Errorf("%s: excluded %v, want c and d at least", c.key, e.Excluded)
		}
	}
	_, err := assigner.Explain(assigner.Sticky{}, in, "unknown")
	wantInvalid(t, err, "workload key")
}

func TestExplainSaysWhyNothingIsLevelled(t *testing.T) {
	in := lopsided()
	in.Policy.Freeze = "the membership has not settled"
	e, err := assigner.Explain(assigner.Sticky{}, in, "w01")
	if err != nil {
		t.Fatal(err)
	}
	if want := "a has it, and nothing is levelled now: the membership has not settled"; e.Rule != want || e.RunnerUp != "b" {
		t.Errorf("%+v, want the rule %q", e, want)
	}
	in.Policy = assigner.Policy{Budget: 1}
	left := 0
	for _, w := range in.Workloads {
		e, err := assigner.Explain(assigner.Sticky{}, in, w.Key)
		if err != nil {
			t.Fatal(err)
		}
		if e.Rule == "a has it, and 8 more than its quota of 11, but the budget or a cool-down defers the rest" {
			left++
		}
	}
	if left != 19 {
		t.Errorf("%d workloads are explained by the budget, want the 19 that stay on a", left)
	}
}

func TestExplainOfEveryAssigner(t *testing.T) {
	own := assigner.Func(func(in assigner.Input) (assigner.Plan, error) {
		return assigner.Assemble(in, map[string]instanceID{"w00": "a"})
	})
	in := assigner.Input{Workloads: works(1), Instances: fleet("a", "b")}
	for _, a := range []assigner.Assigner{assigner.Sticky{}, assigner.Weighted{}, assigner.Rendezvous{}, assigner.Partition{}, assigner.Balanced{}, assigner.Primary{}, own} {
		e, err := assigner.Explain(a, in, "w00")
		if err != nil {
			t.Fatalf("%T: %v", a, err)
		}
		if e.Rule == "" || e.Instance == "" {
			t.Errorf("%T: %+v", a, e)
		}
	}
}

func TestWhatIf(t *testing.T) {
	in := assigner.Input{Workloads: works(12), Instances: fleet("a", "b", "what-if-1")}
	ask := func(c assigner.Change) assigner.Outlook {
		t.Helper()
		o, err := assigner.WhatIf(assigner.Sticky{}, in, c)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := ask(assigner.Change{}); len(o.Now.Moves) != 12 || len(o.Then.Moves) != 0 {
		t.Errorf("no change: %d moves, then %d; want 12, then none", len(o.Now.Moves), len(o.Then.Moves))
	}
	o := ask(assigner.Change{Drain: []instanceID{"a"}})
	for _, m := range o.Then.Moves {
		if m.From != "a" || m.Reason != assigner.Evict {
			t.Errorf("drain a: %+v", m)
		}
	}
	if len(o.Then.Moves) != 4 {
		t.Errorf("drain a: %d moves, want 4", len(o.Then.Moves))
	}
	o = ask(assigner.Change{Add: 1})
	if len(o.Then.Moves) != 3 || o.Then.Moves[0].To != "what-if-2" {
		t.Errorf("add one: %v, want three moves to what-if-2", o.Then.Moves)
	}
	o = ask(assigner.Change{Add: 1, Like: &assigner.Instance{Version: "next"}})
	if len(o.Then.Moves) != 0 || o.Then.Frozen == "" {
		t.Errorf("add one of the next version: %v, want none while versions are mixed", o.Then.Moves)
	}
}

func TestWhatIfWeights(t *testing.T) {
	in := assigner.Input{Workloads: works(4), Instances: fleet("a", "b")}
	o, err := assigner.WhatIf(assigner.Weighted{}, in, assigner.Change{Weights: map[string]int{"w00": 3}})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Then.Moves) != 1 || o.Then.Moves[0].Key == "w00" {
		t.Errorf("moves %v, want the light neighbour of w00 to go", o.Then.Moves)
	}
}

func TestWhatIfRefusesTheUnknown(t *testing.T) {
	in := assigner.Input{Workloads: works(1), Instances: fleet("a")}
	for field, c := range map[string]assigner.Change{
		"Change.Drain":   {Drain: []instanceID{"b"}},
		"Change.Add":     {Add: -1},
		"Change.Weights": {Weights: map[string]int{"w00": 1, "w77": 1}},
	} {
		_, err := assigner.WhatIf(assigner.Sticky{}, in, c)
		wantInvalid(t, err, field)
	}
}
