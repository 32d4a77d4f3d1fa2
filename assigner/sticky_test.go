package assigner_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/internal/long"
)

// TestStickyEqualsBruteForce tries every plan of small fleets with all features at once.
func TestStickyEqualsBruteForce(t *testing.T) {
	for _, s := range []struct {
		name  string
		shape shape
	}{
		{"plain", shape{workloads: long.Or(7, 5), instances: 4, owners: true}},
		{"capacities", shape{workloads: long.Or(7, 5), instances: 4, owners: true, capacities: true}},
		{"labels", shape{workloads: 7, instances: 4, owners: true, labels: true}},
		{"everything", shape{workloads: 6, instances: 4, owners: true, capacities: true, labels: true, phases: true}},
	} {
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				in := drawFleet(t, s.shape)
				p, err := assigner.Sticky{}.Plan(in)
				if err != nil {
					t.Fatal(err)
				}
				if err := assigner.Verify(in, p); err != nil {
					t.Fatal(err)
				}
				got, want := costOf(in, placesOf(in, p)), bruteForce(in)
				if got.imbalance.Cmp(want.imbalance) != 0 || got.moves != want.moves {
					t.Fatalf("imbalance %v with %d moves, the best plan has %v with %d", got.imbalance, got.moves, want.imbalance, want.moves)
				}
			})
		})
	}
}

// TestStickyMovesTheFewestOnEveryJoinAndLeave follows random fleets through many changes.
func TestStickyMovesTheFewestOnEveryJoinAndLeave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFleet(t, shape{workloads: 200, instances: 12, owners: true})
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			p, err := assigner.Sticky{}.Plan(in)
			if err != nil {
				t.Fatal(err)
			}
			if want := fewest(in); len(p.Moves) != want {
				t.Fatalf("%d moves, the bound is %d", len(p.Moves), want)
			}
			withinOne(t, p)
			in.Owners, in.InFlight = p.Owners(), nil
			changeFleet(t, &in)
		}
	})
}

func withinOne(t *rapid.T, p assigner.Plan) {
	least, most := len(p.Targets), 0
	for _, q := range p.Quotas {
		least, most = min(least, q.Count), max(most, q.Count)
		if q.Count != q.Quota {
			t.Fatalf("%s has %d, its quota is %d", q.Instance, q.Count, q.Quota)
		}
	}
	if most-least > 1 {
		t.Fatalf("loads between %d and %d", least, most)
	}
}

// changeFleet lets instances join or leave, never both, and never the last one.
func changeFleet(t *rapid.T, in *assigner.Input) {
	count := rapid.IntRange(1, 3).Draw(t, "how many")
	if rapid.Bool().Draw(t, "join") || len(in.Instances) <= count {
		for range count {
			id := rapid.StringMatching(`j[a-z]{6}`).Filter(func(id string) bool {
				for _, m := range in.Instances {
					if string(m.ID) == id {
						return false
					}
				}
				return true
			}).Draw(t, "joiner")
			in.Instances = append(in.Instances, assigner.Instance{ID: instanceID(id)})
		}
		return
	}
	in.Instances = in.Instances[count:]
}

func TestStickyJoinsMoveToJoinersAndLeavesFromLeavers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFleet(t, shape{workloads: 100, instances: 10, capacities: true})
		p, err := assigner.Sticky{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Owners = p.Owners()
		before := map[instanceID]bool{}
		for _, m := range in.Instances {
			before[m.ID] = true
		}
		leaver := rapid.IntRange(-1, len(in.Instances)-1).Draw(t, "leaver")
		if leaver < 0 {
			in.Instances = append(in.Instances, assigner.Instance{ID: "zz", Capacity: rapid.IntRange(0, 4).Draw(t, "new capacity")})
		} else {
			in.Instances[leaver].Phase = assigner.Draining
		}
		p, err = assigner.Sticky{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.Moves {
			if leaver < 0 && before[m.To] {
				t.Fatalf("a join moved %+v", m)
			}
			if leaver >= 0 && m.From != in.Instances[leaver].ID {
				t.Fatalf("a leave of %s moved %+v", in.Instances[leaver].ID, m)
			}
		}
	})
}

// properties that every assigner has.
func checkProperties(t *testing.T, a assigner.Assigner, s shape) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		in := drawFleet(t, s)
		p, err := a.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := assigner.Verify(in, p); err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 0))
		shuffled := in
		shuffled.Workloads = shuffle(r, in.Workloads)
		shuffled.Instances = shuffle(r, in.Instances)
		q, err := a.Plan(shuffled)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("another order gives another plan:\n%+v\n%+v", p, q)
		}
		begun, ended := in, in
		begun.InFlight, ended.Owners, ended.InFlight = p.Owners(), p.Owners(), nil
		settled(t, a, begun, p)
		if len(in.InFlight) == 0 { // a workload on its way is left alone until it has arrived
			settled(t, a, ended, p)
		}
	})
}

// settled checks that nothing moves once a plan is being, or has been, carried out.
func settled(t *rapid.T, a assigner.Assigner, in assigner.Input, p assigner.Plan) {
	again, err := a.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Moves) != 0 || !reflect.DeepEqual(again.Targets, p.Targets) {
		t.Fatalf("planning the plan moves %+v", again.Moves)
	}
}

func shuffle[T any](r *rand.Rand, list []T) []T {
	list = append([]T(nil), list...)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func TestProperties(t *testing.T) {
	everything := shape{workloads: 40, instances: 8, owners: true, capacities: true, labels: true, phases: true}
	for _, c := range []struct {
		name string
		a    assigner.Assigner
	}{
		{"sticky", assigner.Sticky{}},
		{"balanced", assigner.Balanced{}},
		{"primary", assigner.Primary{}},
		{"primary in a rollout", assigner.Primary{Rollout: true}},
	} {
		t.Run(c.name, func(t *testing.T) { checkProperties(t, c.a, everything) })
	}
}

// TestStickyLooksThroughChains needs A's workloads to make way on b, so that B's find room there:
// sharing out class after class ends at loads of 1, 3 and 2.
func TestStickyLooksThroughChains(t *testing.T) {
	members := fleet("a", "b", "c")
	members[0].Labels = map[string]string{"A": ""}
	members[1].Labels = map[string]string{"A": "", "B": ""}
	members[2].Labels = map[string]string{"B": ""}
	list := works(6)
	for i := range list {
		list[i].Requires = "B"
	}
	list[0].Requires, list[1].Requires = "A", "A"
	p := mustPlan(t, assigner.Sticky{}, assigner.Input{Workloads: list, Instances: members})
	wantKeys(t, p, "a", "w00", "w01")
	for _, q := range p.Quotas {
		if q.Count != 2 {
			t.Errorf("%s has %d workloads, want 2", q.Instance, q.Count)
		}
	}
}
