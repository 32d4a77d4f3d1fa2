package assigner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/internal/long"
)

// update plays a rolling update: every pod is replaced by one of the new version, step pods at a
// time. With surge the new ones start before the old ones drain, without it after.
type update struct {
	pods, workloads, step int
	surge                 bool
	single                bool   // every pod that comes or goes is planned for by itself
	kill                  string // "oldest", "youngest" or "mixed" first
}

// result says how often workloads moved, and the most that one instance ever had.
type result struct {
	moves []int
	peak  int
}

func (r result) average() float64 {
	sum := 0
	for _, m := range r.moves {
		sum += m
	}
	return float64(sum) / float64(len(r.moves))
}

func (r result) most() int {
	most := 0
	for _, m := range r.moves {
		most = max(most, m)
	}
	return most
}

type player struct {
	t      *testing.T
	a      assigner.Assigner
	in     assigner.Input
	joined int
	number map[string]int
	result
}

func (p *player) join(version string, count int) {
	for range count {
		p.joined++
		id := fmt.Sprintf("pod-%08x", assigner.Hash(fmt.Sprint(p.joined))>>32)
		p.in.Instances = append(p.in.Instances, assigner.Instance{ID: instanceID(id), Version: version, JoinedAt: epoch.Add(time.Duration(p.joined) * time.Second)})
	}
}

func (p *player) plan() {
	plan := mustPlan(p.t, p.a, p.in)
	for _, m := range plan.Moves {
		if m.From != "" {
			p.moves[p.number[m.Key]]++
		}
	}
	for _, q := range plan.Quotas {
		p.peak = max(p.peak, q.Count)
	}
	p.in.Owners = plan.Owners()
}

// start lets pods of the new version join.
func (p *player) start(count int, single bool) {
	for range count {
		p.join("new", 1)
		if single {
			p.plan()
		}
	}
	p.plan()
}

// stop drains the chosen old pods and removes them.
func (p *player) stop(old []instanceID, count int, single bool) []instanceID {
	stopping := map[instanceID]bool{}
	for _, id := range old[:count] {
		stopping[id] = true
	}
	for i := range p.in.Instances {
		if !stopping[p.in.Instances[i].ID] {
			continue
		}
		p.in.Instances[i].Phase = assigner.Draining
		if single {
			p.plan()
		}
	}
	p.plan()
	var rest []assigner.Instance
	for _, m := range p.in.Instances {
		if !stopping[m.ID] {
			rest = append(rest, m)
		}
	}
	p.in.Instances = rest
	return old[count:]
}

func (u update) play(t *testing.T, a assigner.Assigner) result {
	p := &player{t: t, a: a, number: map[string]int{}}
	p.moves = make([]int, u.workloads)
	for i := range u.workloads {
		key := fmt.Sprintf("workload-%06d", i)
		p.number[key] = i
		p.in.Workloads = append(p.in.Workloads, assigner.Workload{Key: key})
	}
	p.join("old", u.pods)
	p.plan()
	var old []instanceID
	for _, m := range p.in.Instances {
		switch u.kill {
		case "youngest":
			old = append([]instanceID{m.ID}, old...)
		case "mixed":
			old = append(old, m.ID)
			at := int(assigner.Hash(string(m.ID)) % uint64(len(old)))
			old[at], old[len(old)-1] = old[len(old)-1], old[at]
		default:
			old = append(old, m.ID)
		}
	}
	for len(old) > 0 {
		step := min(u.step, len(old))
		if u.surge {
			p.start(step, u.single)
			old = p.stop(old, step, u.single)
		} else {
			old = p.stop(old, step, u.single)
			p.start(step, u.single)
		}
	}
	p.plan()
	return p.result
}

func TestRollingUpdateWithSurgeMovesEachWorkloadOnce(t *testing.T) {
	pods := long.Or(100, 24)
	for _, kill := range long.Or([]string{"oldest", "youngest", "mixed"}, []string{"mixed"}) {
		for _, u := range []update{
			{pods: 10, workloads: 1000, step: 1, surge: true, kill: kill},
			{pods: 10, workloads: 997, step: 1, surge: true, kill: kill},
			{pods: 10, workloads: 1003, step: 3, surge: true, kill: kill},
			{pods: pods, workloads: 10 * pods, step: 1, surge: true, kill: kill},
			{pods: pods, workloads: 30*pods - 27, step: pods / 4, surge: true, kill: kill},
			{pods: pods, workloads: 11*pods - 3, step: pods / 4, surge: true, single: true, kill: kill},
		} {
			t.Run(fmt.Sprintf("%+v", u), func(t *testing.T) {
				for _, a := range []assigner.Assigner{assigner.Sticky{}, assigner.Weighted{}} {
					r := u.play(t, a)
					for w, moves := range r.moves {
						if moves != 1 {
							t.Fatalf("%T: workload %d moved %d times, average %.2f", a, w, moves, r.average())
						}
					}
					if most := (u.workloads + u.pods - 1) / u.pods; r.peak > most {
						t.Errorf("%T: one pod had %d workloads, an even share is %d", a, r.peak, most)
					}
				}
			})
		}
	}
}

func TestRollingUpdateWithoutSurge(t *testing.T) {
	pods := long.Or(100, 24)
	for _, kill := range long.Or([]string{"oldest", "youngest", "mixed"}, []string{"mixed"}) {
		u := update{pods: 10, workloads: 1000, step: 1, kill: kill}
		if r := u.play(t, assigner.Sticky{}); r.average() > 1.25 {
			t.Errorf("killing %s first: %.2f moves per workload, at most %d; want 1.25", kill, r.average(), r.most())
		}
		u = update{pods: pods, workloads: 20 * pods, step: pods / 4, single: true, kill: kill}
		r := u.play(t, assigner.Sticky{})
		t.Logf("%d pods, a quarter unavailable, %s first: %.2f moves per workload, at most %d, peak %d", pods, kill, r.average(), r.most(), r.peak)
	}
}

func TestRollingUpdateOfAPrimary(t *testing.T) {
	u := update{pods: 10, workloads: 5, step: 1, surge: true}
	if r := u.play(t, assigner.Primary{Rollout: true}); r.average() != 1 || r.most() != 1 {
		t.Errorf("with Rollout: %.2f moves, at most %d; want exactly 1", r.average(), r.most())
	}
	if r := u.play(t, assigner.Primary{}); r.average() != 10 {
		t.Errorf("without Rollout: %.2f moves, want 10: the documentation says so", r.average())
	}
}

func TestRollBackPrefersWhatIsBeingStarted(t *testing.T) {
	members := fleet("a1", "a2", "b1", "a3")
	for i, version := range []string{"a", "a", "b", "a"} {
		members[i].Version = version
	}
	members[2].Phase = assigner.Draining
	in := assigner.Input{Workloads: works(3), Instances: members, Owners: map[string]instanceID{"w00": "a1", "w01": "a2", "w02": "b1"}}
	members = append(members, assigner.Instance{ID: "b2", Version: "b", JoinedAt: epoch})
	in.Instances = members
	p := mustPlan(t, assigner.Sticky{}, in)
	want := assigner.Move{Key: "w02", From: "b1", To: "a3", Reason: assigner.Rollout}
	if p.Frozen == "" || len(p.Moves) != 1 || p.Moves[0] != want {
		t.Errorf("plan %+v, want a frozen one with the move %+v", p, want)
	}
}
