package coordinator_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

func TestCatalogueChangesWhileRunning(t *testing.T) {
	bubble(t, 6, func(t *testing.T, f *fleet) {
		f.join("a", "b")
		after(40 * time.Second)
		set := func(keys ...string) {
			f.keys = keys
			for _, n := range f.nodes {
				if err := n.SetWorkloads(f.catalogue()); err != nil {
					t.Error(err)
				}
			}
		}
		set("job-000", "job-001", "job-002", "job-003", "new-1", "new-2")
		after(20 * time.Millisecond)
		if got := f.witness.owners(); got["job-005"] != "" || got["new-1"] == "" || got["new-2"] == "" {
			t.Errorf("right after the change %v run", got)
		}
		after(10 * time.Second)
		f.balanced("a", "b")
		if f.witness.started("job-000") != 2 { // a alone for a moment, or b after it: never again
			if f.witness.started("job-000") > 2 {
				t.Errorf("job-000 was started %d times", f.witness.started("job-000"))
			}
		}
		set()
		after(20 * time.Millisecond)
		if got := f.witness.owners(); len(got) != 0 {
			t.Errorf("with an empty catalogue %v run", got)
		}
	})
}

func TestRefusedCatalogueChangesNothing(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.join("a")
		after(time.Second)
		for _, bad := range [][]coordinator.Workload[string]{
			{{Key: "x"}, {Key: "y"}, {Key: "x"}}, {{Key: ""}}, {{Key: "tenure:x"}}, {{Key: "x", Weight: -1}}, {{Key: "x", Requires: "(("}},
			{{Key: "x", Name: "a\x00b"}}, {{Key: "x", Pin: "\xff"}}, {{Key: "x", Group: "\xff"}},
		} {
			if err := f.nodes["a"].SetWorkloads(bad); !errors.Is(err, lease.ErrInvalid) {
				t.Errorf("SetWorkloads(%+v) = %v", bad, err)
			}
		}
		after(time.Minute)
		f.balanced("a")
	})
}

// A workload is dropped and given back while its worker still winds down: it starts again, once
// the old worker has returned.
func TestGivenBackWhileWindingDown(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.linger = 8 * time.Second
		f.join("a")
		after(40 * time.Second)
		a, all := f.nodes["a"], f.catalogue()
		if err := a.SetWorkloads(all[:1]); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		if err := a.SetWorkloads(all); err != nil {
			t.Fatal(err)
		}
		after(6 * time.Second)
		if n := f.witness.started("job-001"); n != 1 {
			t.Errorf("started %d times while the first worker winds down", n)
		}
		if p := a.Snapshot().Workloads[1]; p.Key != "job-001" || p.Phase != coordinator.Removing || p.Runner.State != runner.Draining {
			t.Errorf("the snapshot says %+v", p)
		}
		within(t, 2*time.Second, "it starts again", func() bool { return f.witness.started("job-001") == 2 })
		if n := f.witness.started("job-000"); n != 1 {
			t.Errorf("job-000 was disturbed: %d starts", n)
		}
	})
}

// Winding down one workload takes half a minute; the heartbeat and the others do not notice.
func TestWindingDownBlocksNothing(t *testing.T) {
	bubble(t, 4, func(t *testing.T, f *fleet) {
		f.linger = 25 * time.Second
		f.join("a")
		after(40 * time.Second)
		a, all := f.nodes["a"], f.catalogue()
		a.fault.counts()
		if err := a.SetWorkloads(all[1:]); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		f.keys = append(f.keys[1:], "late")
		if err := a.SetWorkloads(f.catalogue()); err != nil {
			t.Fatal(err)
		}
		after(19 * time.Second)
		if c := a.fault.counts(); c["Heartbeat"] < 8 {
			t.Errorf("heartbeats while winding down: %v", c)
		}
		if f.witness.started("late") != 1 {
			t.Error("a new workload had to wait for one that winds down")
		}
	})
}

func TestOneFailingWorkloadTouchesNoOther(t *testing.T) {
	bubble(t, 4, func(t *testing.T, f *fleet) {
		var tries atomic.Int32
		n := &node{id: "a", fault: newFaulty(f.store.Handle())}
		good := f.work("a")
		work := func(ctx context.Context, term *runner.Term, value string) error {
			switch term.Key() {
			case "job-000":
				tries.Add(1)
				return errors.New("no")
			case "job-001":
				tries.Add(1)
				panic("no")
			}
			return good(ctx, term, value)
		}
		cfg := f.cfg
		cfg.Instance.ID = "a"
		var err error
		if n.Coordinator, err = coordinator.New(n.fault, f.catalogue(), work, cfg); err != nil {
			t.Fatal(err)
		}
		f.nodes["a"] = n
		f.every = append(f.every, n)
		n.start(context.Background())
		after(40 * time.Second)
		if got := tries.Load(); got < 6 || got > 40 {
			t.Errorf("the failing ones were tried %d times in a minute", got)
		}
		for _, key := range f.keys[2:] {
			if f.witness.started(key) != 1 || f.witness.owners()[key] != "a" {
				t.Errorf("%s was disturbed", key)
			}
		}
	})
}

// blocker is user code that never returns, until the test lets it.
type blocker struct {
	slog.Handler
	free chan struct{}
}

func (b blocker) ObserveBeat(coordinator.BeatEvent)                { <-b.free }
func (b blocker) ObservePlan(coordinator.PlanEvent)                { <-b.free }
func (b blocker) ObserveAssignment(coordinator.Event)              { <-b.free }
func (b blocker) Enabled(context.Context, slog.Level) bool         { return true }
func (b blocker) Handle(context.Context, slog.Record) error        { <-b.free; return nil }
func (b blocker) WithAttrs([]slog.Attr) slog.Handler               { return b }
func (b blocker) WithGroup(string) slog.Handler                    { return b }
func (b blocker) RequestDrain()                                    { <-b.free }
func (b blocker) Plan(assigner.Input) (p assigner.Plan, err error) { <-b.free; return p, nil }

func TestUserCodeThatHangsHoldsUpNothing(t *testing.T) {
	bubble(t, 4, func(t *testing.T, f *fleet) {
		b := blocker{free: make(chan struct{})}
		f.cfg.Observers, f.cfg.Logger = []any{b}, slog.New(b)
		f.join("a", "b")
		after(30 * time.Second)
		f.balanced("a", "b")
		begin := time.Now()
		if err := f.leave("b"); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("Run took %v to return", took)
		}
		after(10 * time.Second)
		f.balanced("a")
		close(b.free)
	})
}

func TestAssignerThatHangsOrPanicsLeavesTheRestAlone(t *testing.T) {
	bubble(t, 4, func(t *testing.T, f *fleet) {
		b := blocker{free: make(chan struct{})}
		var mode atomic.Value
		mode.Store("good")
		f.cfg.Assigner = assigner.Func(func(in assigner.Input) (assigner.Plan, error) {
			switch mode.Load() {
			case "panics":
				panic("no")
			case "fails":
				return assigner.Plan{}, errors.New("no")
			case "empty":
				return assigner.Plan{}, nil
			case "hangs":
				return b.Plan(in)
			}
			return assigner.Balanced{}.Plan(in)
		})
		f.join("a", "b")
		after(40 * time.Second)
		for _, m := range []string{"fails", "panics", "empty", "hangs"} {
			mode.Store(m)
			f.join(m)
			after(10 * time.Second)
			f.balanced("a", "b")
			if s := f.nodes["a"].Snapshot(); (s.Plan.Err == nil) != (m == "hangs") && m != "hangs" {
				t.Errorf("%s: the snapshot's error is %v", m, s.Plan.Err)
			}
			if v, _ := f.store.Members(t.Context()); len(v.Members) != len(f.nodes) {
				t.Errorf("%s: %d members of %d", m, len(v.Members), len(f.nodes))
			}
		}
		mode.Store("good")
		close(b.free)
		after(30 * time.Second)
		f.balanced("a", "b", "fails", "panics", "empty", "hangs")
	})
}

type drainable struct{ told atomic.Int32 }

func (d *drainable) RequestDrain() { d.told.Add(1) }

func TestDrainableIsTold(t *testing.T) {
	bubble(t, 2, func(t *testing.T, f *fleet) {
		f.join("a")
		after(time.Second)
		d := &drainable{}
		all := append(f.catalogue(), coordinator.Workload[string]{Key: "d", Name: "The D", Value: "d", Drainable: d})
		if err := f.nodes["a"].SetWorkloads(all); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		var subject interface {
			BeginDrain(context.Context) error
			Running() []string
			Drained() <-chan struct{}
		} = f.nodes["a"]
		if got := subject.Running(); !slices.Equal(got, []string{"d", "job-000", "job-001"}) {
			t.Errorf("running %v", got)
		}
		if err := subject.BeginDrain(t.Context()); err != nil {
			t.Error(err)
		}
		<-subject.Drained()
		if d.told.Load() != 1 || len(subject.Running()) != 0 {
			t.Errorf("told %d times, running %v", d.told.Load(), subject.Running())
		}
		_ = drain.ErrDraining
	})
}

func TestNothingIsLevelledWhileGrantsAreFrozen(t *testing.T) {
	for _, planning := range bothWays {
		t.Run(string(planning), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { frozen(t, planning) }) })
	}
}

// bothWays are the ways of planning for assigners that heed owners.
var bothWays = []coordinator.Planning{coordinator.PlanningPlanner, coordinator.PlanningEveryone}

func frozen(t *testing.T, planning coordinator.Planning) {
	f := newFleet(t, 10)
	f.cfg.Planning = planning
	store := f.forgetful()
	f.join("a", "b")
	after(40 * time.Second)
	before := f.witness.owners()
	store.Restore(nil) // all data are lost: grants freeze for 15 s
	after(3 * time.Second)
	f.join("c")
	after(9 * time.Second)
	for key, id := range before {
		if f.witness.owners()[key] != id {
			t.Errorf("%s left %s in the freeze", key, id)
		}
	}
	after(10 * time.Second)
	f.balanced("a", "b", "c")
	f.close()
}

func TestValuesChangeWithTheNextTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		var mu sync.Mutex
		var seen []*int
		one, two := new(int), new(int)
		c, err := coordinator.New(f.store, []coordinator.Workload[*int]{{Key: "k", Value: one}, {Key: "nil"}},
			func(ctx context.Context, term *runner.Term, w *int) error {
				if term.Key() == "nil" {
					if w != nil {
						t.Error("a nil value came as something else")
					}
					<-term.Draining()
					return nil
				}
				mu.Lock()
				seen = append(seen, w)
				mu.Unlock()
				<-ctx.Done()
				return ctx.Err()
			}, coordinator.Config{Timing: lease.Timing{DrainTimeout: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		after(time.Second)
		if err := c.SetWorkloads([]coordinator.Workload[*int]{{Key: "k", Value: two}, {Key: "nil"}}); err != nil {
			t.Error(err)
		}
		after(time.Minute)
		if !slices.Equal(seen, []*int{one}) {
			t.Errorf("a running term was disturbed: %v", seen)
		}
		if err := f.store.Revoke(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		if !slices.Equal(seen, []*int{one, two}) {
			t.Errorf("values seen %v, want %v", seen, []*int{one, two})
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
