package assigner_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenure-go/tenure/assigner"
)

var sticky = []struct {
	name string
	a    assigner.Assigner
}{{"sticky", assigner.Sticky{}}, {"weighted", assigner.Weighted{}}}

// lopsided has everything on a, nothing on b, and one workload without an owner.
func lopsided() assigner.Input {
	in := assigner.Input{Workloads: works(21), Instances: fleet("a", "b"), Owners: map[string]instanceID{}}
	for _, w := range in.Workloads[1:] {
		in.Owners[w.Key] = "a"
	}
	return in
}

func TestFreezePlacesOrphansOnly(t *testing.T) {
	for _, c := range sticky {
		in := lopsided()
		in.Policy.Freeze = "the membership has not settled"
		p := mustPlan(t, c.a, in)
		if len(p.Moves) != 1 || p.Moves[0] != (assigner.Move{Key: "w00", To: "b", Reason: assigner.Orphan}) {
			t.Errorf("%s: moves %v, want the orphan to b", c.name, p.Moves)
		}
		if p.Frozen != in.Policy.Freeze {
			t.Errorf("%s: frozen %q, want the policy's reason", c.name, p.Frozen)
		}
	}
}

func TestHoldMovesNothing(t *testing.T) {
	for _, c := range sticky {
		in := lopsided()
		in.Policy.Hold = "40 of 100 instances vanished"
		p := mustPlan(t, c.a, in)
		if len(p.Moves) != 0 || len(p.Unplaceable) != 1 || p.Frozen != in.Policy.Hold {
			t.Errorf("%s: plan %+v, want no move and the orphan left lying", c.name, p)
		}
	}
}

func TestBudgetRoundsAddUpToTheFewestMoves(t *testing.T) {
	for _, c := range sticky {
		in := lopsided()
		in.Policy.Budget = 3
		total, rounds := 0, 0
		for {
			p := mustPlan(t, c.a, in)
			levelled := 0
			for _, m := range p.Moves {
				if m.Reason == assigner.Level {
					levelled++
				}
			}
			if levelled > 3 {
				t.Fatalf("%s: %d workloads levelled, the budget is 3", c.name, levelled)
			}
			if len(p.Moves) == 0 {
				if p.Deferred != 0 {
					t.Errorf("%s: %d deferred at the end", c.name, p.Deferred)
				}
				break
			}
			total += len(p.Moves)
			rounds++
			in.Owners = p.Owners()
		}
		if total != 10 || rounds != 3 {
			t.Errorf("%s: %d moves in %d rounds, want 10 in 3", c.name, total, rounds)
		}
	}
}

func TestBudgetNeverCostsAMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFleet(t, shape{workloads: 40, instances: 6, owners: true, capacities: true, labels: true})
		want, err := assigner.Sticky{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Policy.Budget = rapid.IntRange(1, 4).Draw(t, "budget")
		total := 0
		for range 100 {
			p, err := assigner.Sticky{}.Plan(in)
			if err != nil {
				t.Fatal(err)
			}
			total += len(p.Moves)
			in.Owners, in.InFlight = p.Owners(), nil
			if len(p.Moves) == 0 {
				break
			}
		}
		if total != len(want.Moves) {
			t.Fatalf("%d moves in rounds of %d, %d at once", total, in.Policy.Budget, len(want.Moves))
		}
	})
}

func TestCoolDownIsLeftInPeace(t *testing.T) {
	for _, c := range sticky {
		in := lopsided()
		for i := 1; i < 18; i++ {
			in.Policy.CoolDown = append(in.Policy.CoolDown, fmt.Sprintf("w%02d", i))
		}
		in.Policy.CoolDown = append(in.Policy.CoolDown, "unknown")
		for _, m := range mustPlan(t, c.a, in).Moves {
			if m.Key > "w00" && m.Key < "w18" {
				t.Errorf("%s: %+v in its cool-down", c.name, m)
			}
		}
	}
	in := lopsided()
	in.Policy.CoolDown = []string{"w01", "w02", "w03", "w04", "w05", "w06", "w07", "w08", "w09", "w10", "w11", "w12", "w13", "w14", "w15", "w16"}
	if p := mustPlan(t, assigner.Sticky{}, in); p.Deferred != 5 {
		t.Errorf("deferred %d, want 5: 9 had to go, 4 were free to", p.Deferred)
	}
}

func TestMovesInFlightCountAtTheirTarget(t *testing.T) {
	in := assigner.Input{Workloads: works(4), Instances: fleet("a", "b")}
	in.Owners = map[string]instanceID{"w00": "a", "w01": "a", "w02": "a", "w03": "a"}
	in.InFlight = map[string]instanceID{"w00": "b", "w01": "b"}
	for _, c := range sticky {
		p := mustPlan(t, c.a, in)
		if len(p.Moves) != 0 {
			t.Errorf("%s: moves %v, want none: two are under way", c.name, p.Moves)
		}
		wantKeys(t, p, "b", "w00", "w01")
	}
	gone := in
	gone.Instances = fleet("a")
	p := mustPlan(t, assigner.Sticky{}, gone)
	if len(p.Moves) != 0 {
		t.Errorf("moves %v, want none: the target is gone and the owner keeps them", p.Moves)
	}
}

func TestMixedVersionsFreezeUnlessToldOtherwise(t *testing.T) {
	for _, c := range sticky {
		in := lopsided()
		in.Instances[1].Version = "2"
		if p := mustPlan(t, c.a, in); p.Frozen == "" || len(p.Moves) != 1 {
			t.Errorf("%s: frozen %q with %d moves, want one move", c.name, p.Frozen, len(p.Moves))
		}
		in.Policy.AcrossVersions = true
		if p := mustPlan(t, c.a, in); p.Frozen != "" || len(p.Moves) < 10 {
			t.Errorf("%s: frozen %q with %d moves, want it levelled", c.name, p.Frozen, len(p.Moves))
		}
	}
}

func TestHeldInstancesKeepWhatTheyHave(t *testing.T) {
	for _, phase := range []assigner.Phase{assigner.Joining, assigner.Suspect, assigner.Suppressed} {
		for _, c := range sticky {
			in := lopsided()
			in.Instances[0].Phase = phase
			p := mustPlan(t, c.a, in)
			if len(p.Moves) != 1 || p.Moves[0].To != "b" {
				t.Errorf("%s, %s: moves %v, want the orphan alone, to b", c.name, phase, p.Moves)
			}
		}
	}
}
