package assigner_test

import (
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
)

func TestPrimaryTakesAll(t *testing.T) {
	p := mustPlan(t, assigner.Primary{}, assigner.Input{Workloads: works(3), Instances: fleet("z", "a")})
	wantKeys(t, p, "z", "w00", "w01", "w02")
	wantKeys(t, p, "a")
}

func TestPrimaryTieIsBrokenByID(t *testing.T) {
	in := assigner.Input{Workloads: works(1), Instances: []assigner.Instance{{ID: "b"}, {ID: "a"}}}
	wantKeys(t, mustPlan(t, assigner.Primary{}, in), "a", "w00")
}

func TestPrimaryNewcomerNeverTakesOver(t *testing.T) {
	in := assigner.Input{Workloads: works(2), Instances: fleet("m", "a")}
	in.Owners = mustPlan(t, assigner.Primary{}, in).Owners()
	p := mustPlan(t, assigner.Primary{}, in)
	if len(p.Moves) != 0 {
		t.Errorf("a newcomer moved %v", p.Moves)
	}
	in.Instances = in.Instances[1:]
	p = mustPlan(t, assigner.Primary{}, in)
	wantKeys(t, p, "a", "w00", "w01")
	if len(p.Moves) != 2 || p.Moves[0] != (assigner.Move{Key: "w00", From: "m", To: "a", Reason: assigner.Orphan}) {
		t.Errorf("moves %v, want both as orphans of m", p.Moves)
	}
}

func TestPrimaryRolloutMovesOnceToTheNewestVersion(t *testing.T) {
	members := fleet("a1", "a2", "b1", "b2")
	for i, version := range []string{"a", "a", "b", "b"} {
		members[i].Version = version
	}
	in := assigner.Input{Workloads: works(2), Instances: members}
	in.Owners = map[string]instanceID{"w00": "a1", "w01": "a1"}

	p := mustPlan(t, assigner.Primary{Rollout: true}, in)
	wantKeys(t, p, "a1", "w00", "w01")

	members[0].Phase = assigner.Draining
	p = mustPlan(t, assigner.Primary{Rollout: true}, in)
	wantKeys(t, p, "b1", "w00", "w01")
	wantKeys(t, mustPlan(t, assigner.Primary{}, in), "a2", "w00", "w01")

	in.Owners = p.Owners()
	in.Instances = append(members[1:], assigner.Instance{ID: "a3", Version: "a", JoinedAt: epoch.Add(time.Hour)})
	wantKeys(t, mustPlan(t, assigner.Primary{Rollout: true}, in), "b1", "w00", "w01")
}
