package coordinator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/runner"
)

// lock is a lease manager without any optional capability.
type lock struct{ lease.Manager }

// plain is a store whose optional capabilities a wrapper hides.
type plain struct{ coordinator.Store }

func planner(change func(*coordinator.PlannerConfig)) coordinator.Config {
	var c coordinator.Config
	change(&c.Planner)
	return c
}

func TestWhoPlans(t *testing.T) {
	store, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	work := func(context.Context, *runner.Term, int) error { return nil }
	lists := coordinator.Separate{Manager: store, Registry: plain{store}, Store: plain{store}}
	for _, c := range []struct {
		store coordinator.Store
		cfg   coordinator.Config
		want  coordinator.Planning
	}{
		{store, coordinator.Config{}, coordinator.PlanningPlanner},
		{store, coordinator.Config{Assigner: assigner.Weighted{}}, coordinator.PlanningPlanner},
		{store, coordinator.Config{Assigner: assigner.Balanced{}}, coordinator.PlanningEveryone},
		{store, coordinator.Config{Assigner: assigner.Balanced{}, Planning: coordinator.PlanningPlanner}, coordinator.PlanningPlanner},
		{store, coordinator.Config{Planning: coordinator.PlanningEveryone}, coordinator.PlanningEveryone},
		{plain{store}, coordinator.Config{}, coordinator.PlanningEveryone},
		{plain{store}, coordinator.Config{Targets: store}, coordinator.PlanningEveryone}, // it lists no leases, so the default needs no owners
		{lists, coordinator.Config{}, coordinator.PlanningPlanner},
	} {
		n, err := coordinator.New(c.store, nil, work, c.cfg)
		if err != nil {
			t.Error(err)
			continue
		}
		if p := n.Snapshot().Planning; p.Mode != c.want || p.Why == "" {
			t.Errorf("%T and %+v: %s plans, since %s", c.store, c.cfg, p.Mode, p.Why)
		}
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	store, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	work := func(context.Context, *runner.Term, int) error { return nil }
	type config = coordinator.Config
	type catalogue = []coordinator.Workload[int]
	sep := func(change func(*coordinator.Separate)) coordinator.Store {
		s := coordinator.Separate{Manager: store, Registry: store, Store: store}
		change(&s)
		return s
	}
	for _, c := range []struct {
		says      string // field
		store     coordinator.Store
		catalogue catalogue
		cfg       config
	}{
		{"store", nil, nil, config{}},
		{"Separate.Manager", sep(func(s *coordinator.Separate) { s.Manager = nil }), nil, config{}},
		{"Separate.Registry", sep(func(s *coordinator.Separate) { s.Registry = nil }), nil, config{}},
		{"Separate.Store", sep(func(s *coordinator.Separate) { s.Store = nil }), nil, config{}},
		{"Separate.Manager", &coordinator.Separate{}, nil, config{}},
		{"Separate.Manager", (*coordinator.Separate)(nil), nil, config{}},
		{`workloads[1].Key "x"`, store, catalogue{{Key: "x"}, {Key: "x"}}, config{}},
		{"workloads[0].Key", store, catalogue{{}}, config{}},
		{"instance ID", store, nil, config{Instance: instance.Instance{ID: "\xff"}}},
		{"instance capacity", store, nil, config{Instance: instance.Instance{ID: "a", Capacity: -1}}},
		{"Timing.LeaseTTL", store, nil, config{Timing: lease.Timing{LeaseTTL: -1}}},
		{"Config.Settle", store, nil, config{Settle: 25 * time.Hour}},
		{"Config.Policy.Budget", store, nil, config{Policy: assigner.Policy{Budget: -1}}},
		{"Config.Planning", store, nil, config{Planning: "nobody"}},
		{"Config.Planning", plain{store}, nil, config{Planning: coordinator.PlanningPlanner}},
		{"Config.Planner.Debounce", store, nil, planner(func(p *coordinator.PlannerConfig) { p.Debounce = 25 * time.Hour })},
		{"Config.Planner.DebounceMost", store, nil, planner(func(p *coordinator.PlannerConfig) { p.DebounceMost = time.Millisecond })},
		{"Config.Planner.CoolDown", store, nil, planner(func(p *coordinator.PlannerConfig) { p.CoolDown = 25 * time.Hour })},
		{"Config.Planner.LossPercent", store, nil, planner(func(p *coordinator.PlannerConfig) { p.LossPercent = 101 })},
		{"Config.Planner.LossLeast", store, nil, planner(func(p *coordinator.PlannerConfig) { p.LossLeast = -1 })},
		{"Config.Planner.LossWait", store, nil, planner(func(p *coordinator.PlannerConfig) { p.LossWait = -1 })},
		{"Config.Planner.ExpectedInstances", store, nil, planner(func(p *coordinator.PlannerConfig) { p.ExpectedInstances = -1 })},
		{"Config.Planner.ExpectedWait", store, nil, planner(func(p *coordinator.PlannerConfig) { p.ExpectedWait = -1 })},
		{"Config.Restart", store, nil, config{Restart: 9}},
		{"Backoff.Min", store, nil, config{Backoff: runner.Backoff{Min: -1}}},
		{"VerifySlice", store, nil, config{VerifySlice: -1}},
		{"Observers[0]", store, nil, config{Observers: []any{nil}}},
		{"Config.Assigner", sep(func(s *coordinator.Separate) { s.Manager = lock{store} }), nil, config{Assigner: assigner.Weighted{}}},
		{"Config.Assigner", sep(func(s *coordinator.Separate) { s.Manager = lock{store} }), nil, config{Assigner: assigner.Primary{Rollout: true}}},
	} {
		_, err := coordinator.New(c.store, c.catalogue, work, c.cfg)
		if !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want one that names %s", err, c.says)
		}
	}
	if _, err := coordinator.New[int](store, nil, nil, config{}); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("without work: %v", err)
	}
	for _, a := range []assigner.Assigner{nil, assigner.Primary{}, assigner.Balanced{}} {
		if _, err := coordinator.New(sep(func(s *coordinator.Separate) { s.Manager = lock{store} }), nil, work, config{Assigner: a}); err != nil {
			t.Errorf("%T on a lease manager that lists nothing: %v", a, err)
		}
	}
}

func TestTheZeroConfigIsThisProcess(t *testing.T) {
	store, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := coordinator.New(store, nil, func(context.Context, *runner.Term, int) error { return nil }, coordinator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Instance().ID; got != instance.Process() {
		t.Errorf("instance %q", got)
	}
	if s := c.Snapshot(); s.Settle != 2*time.Second || s.Plan.Assigner != "assigner.Sticky" || s.Running {
		t.Errorf("snapshot %+v", s)
	}
}

func TestSnapshotTellsAll(t *testing.T) {
	bubble(t, 6, func(t *testing.T, f *fleet) {
		f.join("a")
		after(40 * time.Second)
		f.join("b")
		after(time.Minute)
		a := f.nodes["a"]
		s := a.Snapshot()
		if !s.Running || s.Leaving || s.Draining || s.Instance.ID != "a" || len(s.Members) != 2 || len(s.Catalogue) != 6 || s.Lease.Held != 4 {
			t.Errorf("snapshot %+v", s)
		}
		if s.Beat.LastOK.IsZero() || s.Beat.Failures != 0 || s.Beat.LastErr != nil || time.Since(s.MembersAt) > 3*time.Second {
			t.Errorf("beat %+v", s.Beat)
		}
		if len(s.Plan.Plan.Targets) != 6 || s.Plan.At.IsZero() || !s.Plan.Settled || s.Plan.Err != nil {
			t.Errorf("plan %+v", s.Plan)
		}
		if len(s.Workloads) != 3 || s.Workloads[0].Phase != coordinator.Assigned || s.Workloads[0].Runner.State != runner.Active {
			t.Errorf("workloads %+v", s.Workloads)
		}
		if held := a.Held(); len(held) != 3 || held[0].Token == 0 || held[0].Owner != "a" || held[0].Session == "" {
			t.Errorf("held %+v", held)
		}
		kinds := map[coordinator.EventKind]int{}
		for _, e := range s.Events {
			kinds[e.Kind]++
		}
		if kinds[coordinator.EventStarted] != 1 || kinds[coordinator.EventAssigned] != 6 || kinds[coordinator.EventReaped] != 3 || kinds[coordinator.EventMembers] != 2 {
			t.Errorf("events %v", kinds)
		}
		// What the caller does to his copy is his affair.
		s.Members[0].ID, s.Plan.Plan.Targets[0].Instance, s.Catalogue[0].Key = "x", "x", "x"
		clear(s.Events)
		after(5 * time.Second)
		f.balanced("a", "b")
		if s := a.Snapshot(); s.Members[0].ID != "a" || s.Plan.Plan.Targets[0].Instance == "x" || s.Catalogue[0].Key == "x" {
			t.Error("a snapshot shares memory with the coordinator")
		}
	})
}

// recorder is an observer of everything.
type recorder struct {
	beats   []coordinator.BeatEvent
	plans   []coordinator.PlanEvent
	changes []coordinator.Event
}

func (r *recorder) ObserveBeat(e coordinator.BeatEvent)   { r.beats = append(r.beats, e) }
func (r *recorder) ObservePlan(e coordinator.PlanEvent)   { r.plans = append(r.plans, e) }
func (r *recorder) ObserveAssignment(e coordinator.Event) { r.changes = append(r.changes, e) }

func TestObservers(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		r := &recorder{}
		f.add("a", func(c *coordinator.Config) { c.Observers = []any{r} }).start(context.Background())
		after(40 * time.Second)
		a := f.nodes["a"]
		a.fault.set(func() { a.fault.view = func(registry.View) registry.View { return registry.View{} } })
		after(5 * time.Second)
		a.fault.heal()
		after(5 * time.Second)
		if err := f.leave("a"); err != nil {
			t.Error(err)
		}
		failed := slices.IndexFunc(r.beats, func(e coordinator.BeatEvent) bool { return e.Err != nil })
		if len(r.beats) < 10 || r.beats[0].Err != nil || r.beats[0].Members != 1 || failed < 0 {
			t.Errorf("beats %+v", r.beats)
		}
		if len(r.plans) == 0 || r.plans[0].Mine != 2 || r.plans[0].Err != nil || r.plans[0].Settled {
			t.Errorf("plans %+v", r.plans)
		}
		var kinds []coordinator.EventKind
		for _, e := range r.changes {
			kinds = append(kinds, e.Kind)
		}
		want := []coordinator.EventKind{"assigned", "assigned", "removed", "removed"}
		if len(kinds) < 4 || !slices.Equal(kinds[:4], want) {
			t.Errorf("changes %v", kinds)
		}
	})
}

func TestRunTwiceAtOnce(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fleet) {
		f.join("a")
		after(time.Second)
		if err := f.nodes["a"].Run(t.Context()); !errors.Is(err, runner.ErrRunning) {
			t.Errorf("a second Run returned %v", err)
		}
		f.balanced("a")
	})
}

func TestDrainBeforeRun(t *testing.T) {
	bubble(t, 3, func(t *testing.T, f *fleet) {
		n := f.add("a")
		if err := n.BeginDrain(t.Context()); err != nil {
			t.Error(err)
		}
		<-n.Drained()
		n.start(context.Background())
		after(40 * time.Second)
		if got := f.witness.owners(); len(got) != 0 {
			t.Errorf("a drained instance runs %v", got)
		}
		v, err := f.store.Members(t.Context())
		if m, ok := v.Find("a"); err != nil || !ok || !m.Draining {
			t.Errorf("members %+v, %v", v.Members, err)
		}
	})
}

func TestLeasesAndMembersInDifferentStores(t *testing.T) {
	bubble(t, 6, func(t *testing.T, f *fleet) {
		other, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b"} {
			n := &node{id: id, fault: newFaulty(f.store.Handle())}
			cfg := f.cfg
			cfg.Instance.ID = instance.ID(id)
			s := coordinator.Separate{Manager: n.fault, Registry: other.Handle(), Store: other}
			if n.Coordinator, err = coordinator.New(s, f.catalogue(), f.work(id), cfg); err != nil {
				t.Fatal(err)
			}
			f.nodes[id] = n
			f.every = append(f.every, n)
			n.start(context.Background())
			after(30 * time.Second)
		}
		f.balanced("a", "b")
		// The hints of the registry's store are followed as well.
		if err := f.nodes["b"].BeginDrain(t.Context()); err != nil {
			t.Error(err)
		}
		after(20 * time.Millisecond)
		f.balanced("a")
	})
}
