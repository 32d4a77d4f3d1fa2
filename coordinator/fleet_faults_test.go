package coordinator_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/runner"
)

func TestStoreThatHangsForEverStopsTheWorkInTimeAndWorkResumesByItself(t *testing.T) {
	bubble(t, 9, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c")
		after(40 * time.Second)
		for _, n := range f.nodes {
			n.fault.cut()
		}
		// Renewed at most 2.2 s before the cut, the sessions end within TTL - margin.
		within(t, 9*time.Second, "every worker is cancelled by its local deadline", func() bool { return len(f.witness.owners()) == 0 })
		after(10 * time.Minute)
		if n := len(f.witness.owners()); n != 0 {
			t.Errorf("%d workers run without a store", n)
		}
		for _, n := range f.nodes {
			n.fault.heal()
		}
		within(t, 15*time.Second, "all work has resumed", func() bool { return len(f.witness.owners()) == 9 })
		after(40 * time.Second) // once it has cooled down it may be levelled
		f.balanced("a", "b", "c")
	})
}

func TestFailingHeartbeatsTakeNothingAndStopNothing(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		f.join("a", "b")
		after(40 * time.Second)
		a := f.nodes["a"]
		a.fault.set(func() {
			a.fault.fail = func(op string) error {
				if op == "Heartbeat" {
					return errBroken
				}
				return nil
			}
		})
		after(time.Second * 3)
		if err := f.leave("b"); err != nil {
			t.Error(err)
		}
		after(10 * time.Minute)
		if got := f.witness.loads(); got["a"] != 5 || len(got) != 1 {
			t.Errorf("with failing heartbeats the load is %v, want the 5 that ran", got)
		}
		if s := a.Snapshot(); s.Beat.Failures == 0 || !errors.Is(s.Beat.LastErr, errBroken) {
			t.Errorf("the snapshot does not tell: %+v", s.Beat)
		}
		a.fault.heal()
		within(t, 3*time.Second, "everything runs here once heartbeats work", func() bool { return f.witness.loads()["a"] == 10 })
	})
}

// A standby claim is something new as well: it must not win while the membership is unknown.
func TestFailingHeartbeatsGiveUpStandbyClaims(t *testing.T) {
	bubble(t, 4, func(t *testing.T, f *fleet) {
		other := lease.NewSession("someone", 10*time.Second)
		if _, err := f.store.OpenSession(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		g, err := f.store.Acquire(t.Context(), other, f.keys)
		if err != nil || len(g.Leases) != 4 {
			t.Fatal(g, err)
		}
		f.join("a")
		after(time.Second)
		a := f.nodes["a"]
		a.fault.set(func() {
			a.fault.fail = func(op string) error {
				if op == "Heartbeat" {
					return errBroken
				}
				return nil
			}
		})
		after(3 * time.Second)
		if err := f.store.Release(t.Context(), other, g.Leases); err != nil {
			t.Error(err)
		}
		after(time.Minute)
		if n := len(f.witness.owners()); n != 0 {
			t.Errorf("%d workloads were taken while heartbeats failed", n)
		}
		a.fault.heal()
		within(t, 3*time.Second, "they are taken afterwards", func() bool { return len(f.witness.owners()) == 4 })
	})
}

func TestViewsThatCannotBeTrueStopNothing(t *testing.T) {
	for name, wrong := range map[string]func(registry.View) registry.View{
		"empty":     func(registry.View) registry.View { return registry.View{} },
		"no self":   func(v registry.View) registry.View { v.Unchanged, v.Members = false, nil; return v },
		"unchanged": func(v registry.View) registry.View { return registry.View{Generation: 7, Unchanged: true} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 6, func(t *testing.T, f *fleet) {
				f.join("a", "b")
				after(40 * time.Second)
				before := f.witness.owners()
				for _, n := range f.nodes {
					n.fault.set(func() { n.fault.view = wrong })
				}
				after(time.Minute)
				for key, id := range before {
					if f.witness.owners()[key] != id || f.witness.started(key) > 2 {
						t.Errorf("%s was moved or restarted", key)
					}
				}
				for id, n := range f.nodes {
					if s := n.Snapshot(); s.Beat.Failures == 0 || len(s.Members) != 2 {
						t.Errorf("%s believed the view: %+v", id, s.Beat)
					}
					n.fault.set(func() { n.fault.view = nil })
				}
				f.join("c")
				after(10 * time.Second)
				f.balanced("a", "b", "c")
			})
		})
	}
}

func TestStatusStoreIsNotNeeded(t *testing.T) {
	for _, how := range []string{"fails", "hangs"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, 6, func(t *testing.T, f *fleet) {
				broken := func(n *node) *node {
					n.fault.set(func() {
						about := func(op string) bool { return op == "Statuses" || op == "PutStatus" }
						if how == "hangs" {
							n.fault.stall = about
							return
						}
						n.fault.fail = func(op string) error {
							if about(op) {
								return errBroken
							}
							return nil
						}
					})
					return n
				}
				for _, id := range []string{"a", "b", "c"} {
					broken(f.add(id)).start(context.Background())
				}
				after(30 * time.Second)
				f.balanced("a", "b", "c")
				if err := f.leave("c"); err != nil {
					t.Error(err)
				}
				after(10 * time.Second)
				f.balanced("a", "b")
				f.crash("b")
				after(40 * time.Second)
				f.balanced("a")
			})
		})
	}
}

func TestStuckWorkerIsReportedAndKeepsItsKey(t *testing.T) {
	bubble(t, 4, func(t *testing.T, f *fleet) {
		free := make(chan struct{})
		n := &node{id: "a", fault: newFaulty(f.store.Handle())}
		work := func(ctx context.Context, term *runner.Term, value string) error {
			if term.Key() == "job-001" {
				<-free
			} else {
				<-term.Draining()
			}
			return nil
		}
		cfg := f.cfg
		cfg.Instance.ID = "a"
		var err error
		if n.Coordinator, err = coordinator.New(n.fault, f.catalogue(), work, cfg); err != nil {
			t.Fatal(err)
		}
		n.start(context.Background())
		after(40 * time.Second)
		begin := time.Now()
		n.stop()
		err = <-n.done
		took := time.Since(begin)
		stuck, ok := errors.AsType[*runner.StuckError](err)
		if !ok || !errors.Is(err, runner.ErrStuck) || !slices.Equal(stuck.Keys, []string{"job-001"}) {
			t.Errorf("Run returned %v, want ErrStuck for job-001", err)
		}
		if want := 40 * time.Second; took < want || took > want+time.Second {
			t.Errorf("Run returned after %v, want DrainTimeout + HardStop = %v", took, want)
		}
		if held, err := f.store.Leases(t.Context()); err != nil || len(held) != 1 || held[0].Key != "job-001" {
			t.Errorf("held after Run: %v, %v: the stuck key must lapse by itself", held, err)
		}
		if v, err := f.store.Members(t.Context()); err != nil || len(v.Members) != 0 {
			t.Errorf("members after Run: %v, %v", v.Members, err)
		}
		close(free)
	})
}

func TestStopBeatsAsLeavingUntilTheWorkersHaveReturnedThenLeaves(t *testing.T) {
	bubble(t, 4, func(t *testing.T, f *fleet) {
		f.linger = 12 * time.Second
		f.join("a", "b")
		after(40 * time.Second)
		a := f.nodes["a"]
		a.fault.counts()
		a.stop()
		for range 11 {
			after(time.Second)
			v, err := f.store.Members(t.Context())
			m, ok := v.Find("a")
			if err != nil || !ok || !m.Leaving || m.Draining || m.TTLLeft < 7*time.Second {
				t.Fatalf("while winding down a is %+v (%v): it must beat, as leaving, and never be marked draining", m, err)
			}
		}
		if err := f.leave("a"); err != nil {
			t.Error(err)
		}
		if v, _ := f.store.Members(t.Context()); len(v.Members) != 1 {
			t.Errorf("members after Run: %v", v.Members)
		}
		if c := a.fault.counts(); c["Leave"] != 1 || c["BeginDrain"] != 0 || c["Heartbeat"] < 5 {
			t.Errorf("calls while stopping: %v", c)
		}
		if a.fault.last() != "Leave" {
			t.Errorf("the last call was %s, want Leave", a.fault.last())
		}
		after(20 * time.Millisecond)
		f.balanced("b")
		if err := a.Run(context.Background()); !errors.Is(err, coordinator.ErrStopped) {
			t.Errorf("a second Run returned %v", err)
		}
	})
}

func TestStopReturnsWhateverTheStoreDoes(t *testing.T) {
	bubble(t, 4, func(t *testing.T, f *fleet) {
		f.join("a", "b")
		after(40 * time.Second)
		f.crash("a")
		after(time.Second)
		begin := time.Now()
		if err := f.leaveKeeping("a"); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("Run took %v to return with a store that hangs", took)
		}
		f.add("never").start(context.Background())
		f.nodes["never"].stop()
		after(time.Second)
	})
}

func TestBeginDrainCountsThoughTheStoreCannotBeTold(t *testing.T) {
	bubble(t, 6, func(t *testing.T, f *fleet) {
		f.join("a", "b")
		after(40 * time.Second)
		a := f.nodes["a"]
		a.fault.set(func() {
			a.fault.fail = func(op string) error {
				if op == "BeginDrain" || op == "Heartbeat" {
					return errBroken
				}
				return nil
			}
		})
		if err := a.BeginDrain(context.Background()); !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("BeginDrain returned %v", err)
		}
		after(time.Millisecond)
		select {
		case <-a.Drained():
		default:
			t.Error("not drained here")
		}
		after(time.Second)
		a.fault.heal()
		within(t, 3*time.Second, "the heartbeat told the store", func() bool {
			v, _ := f.store.Members(context.Background())
			m, _ := v.Find("a")
			return m.Draining
		})
		after(20 * time.Millisecond)
		f.balanced("b")
	})
}

func TestDrainMarkedBySomebodyElseIsObeyed(t *testing.T) {
	bubble(t, 6, func(t *testing.T, f *fleet) {
		f.join("a", "b")
		after(40 * time.Second)
		if err := f.store.BeginDrain(t.Context(), instance.ID("a")); err != nil {
			t.Fatal(err)
		}
		after(200 * time.Millisecond)
		if !f.nodes["a"].IsDraining() {
			t.Error("not draining")
		}
		f.balanced("b")
	})
}
