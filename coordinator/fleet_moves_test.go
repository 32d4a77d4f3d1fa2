package coordinator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
)

func TestOneInstanceRunsEverythingAtOnce(t *testing.T) {
	bubble(t, 7, func(t *testing.T, f *fleet) {
		f.join("a")
		after(0)
		f.balanced("a")
	})
}

func TestJoinersGetTheirShareOnceTheFleetHasSettled(t *testing.T) {
	for _, a := range []assigner.Assigner{assigner.Sticky{}, assigner.Balanced{}} {
		t.Run(fmt.Sprintf("%T", a), func(t *testing.T) {
			bubble(t, 10, func(t *testing.T, f *fleet) {
				f.cfg.Assigner = a
				f.join("a")
				after(40 * time.Second)
				f.join("b", "c")
				after(1900 * time.Millisecond)
				f.balanced("a") // not settled yet
				after(3 * time.Second)
				f.balanced("a", "b", "c")
			})
		})
	}
}

func TestLeaverIsReplacedAtOnce(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c")
		after(40 * time.Second)
		if err := f.leave("b"); err != nil {
			t.Error(err)
		}
		after(20 * time.Millisecond)
		if got := len(f.witness.owners()); got != 10 {
			t.Errorf("%d of 10 workloads run right after a graceful leave", got)
		}
		after(5 * time.Second)
		f.balanced("a", "c")
	})
}

// The death of a member is noticed when it expires, and its leases are asked for when they do.
func TestCrashIsTakenOverAtTheEndOfTheTTL(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c")
		after(40 * time.Second)
		for i := range 8 {
			f.crash("b")
			within(t, 10200*time.Millisecond, "everything runs on the survivors", func() bool {
				loads := f.witness.loads()
				return loads["b"] == 0 && loads["a"]+loads["c"] == 10
			})
			after(5 * time.Second)
			f.balanced("a", "c")
			f.nodes["b"].stop()
			f.nodes[fmt.Sprint("dead-", i)] = f.nodes["b"]
			delete(f.nodes, "b")
			after(time.Duration(i) * 300 * time.Millisecond)
			f.join("b")
			after(30 * time.Second)
			f.balanced("a", "b", "c")
		}
	})
}

// Somebody leaves while a heartbeat is under way whose answer does not know it yet.
func TestHintDuringAHeartbeatIsNotForgotten(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		f.join("a", "b")
		after(40 * time.Second)
		a := f.nodes["a"]
		a.fault.set(func() {
			a.fault.late = func(op string) time.Duration {
				if op == "Heartbeat" {
					return 300 * time.Millisecond
				}
				return 0
			}
		})
		after(3 * time.Second)
		a.fault.counts()
		within(t, 3*time.Second, "a heartbeat is under way", func() bool { return a.fault.counts()["Heartbeat"] > 0 })
		if err := f.leave("b"); err != nil {
			t.Error(err)
		}
		within(t, 700*time.Millisecond, "a has taken over", func() bool { return f.witness.loads()["a"] == 10 })
	})
}

// A lease is released while the status read under way still says that it is being wound down.
func TestReleaseDuringAStatusReadIsNotForgotten(t *testing.T) {
	bubble(t, 1, func(t *testing.T, f *fleet) {
		f.linger = 100 * time.Millisecond
		f.join("a")
		after(40 * time.Second)
		b := f.add("b")
		b.fault.set(func() {
			b.fault.late = func(op string) time.Duration {
				if op == "Statuses" {
					return 200 * time.Millisecond
				}
				return 0
			}
		})
		b.start(context.Background())
		after(10 * time.Second)
		if err := f.nodes["a"].BeginDrain(t.Context()); err != nil {
			t.Error(err)
		}
		within(t, 250*time.Millisecond, "b has taken over", func() bool { return f.witness.loads()["b"] == 1 })
	})
}

func TestDrainMovesEverythingAndKeepsBeating(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		f.linger = 3 * time.Second
		f.join("a", "b")
		after(40 * time.Second)
		a := f.nodes["a"]
		if err := a.BeginDrain(context.Background()); err != nil {
			t.Error(err)
		}
		if !a.IsDraining() || len(a.Running()) != 5 {
			t.Errorf("draining %v, running %v", a.IsDraining(), a.Running())
		}
		after(2 * time.Second)
		if n := f.witness.loads()["a"]; n != 5 {
			t.Errorf("%d workers left before they were done", 5-n)
		}
		<-a.Drained()
		after(20 * time.Millisecond)
		f.balanced("b")
		after(time.Minute)
		v, err := f.store.Members(t.Context())
		if err != nil || len(v.Members) != 2 || len(v.Active()) != 1 {
			t.Errorf("members %v, error %v: the drained one must go on beating", v.Members, err)
		}
	})
}
