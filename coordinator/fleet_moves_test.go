package coordinator_test

import (
	"context"
	"testing"
	"time"
)

func TestOneInstanceRunsEverythingAtOnce(t *testing.T) {
	bubble(t, 7, func(t *testing.T, f *fleet) {
		f.join("a")
		after(0)
		f.balanced("a")
	})
}

func TestJoinersGetTheirShareOnceTheFleetHasSettled(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		f.join("a")
		after(time.Minute)
		f.join("b", "c")
		after(time.Second)
		f.balanced("a") // not settled yet
		after(3 * time.Second)
		f.balanced("a", "b", "c")
	})
}

func TestLeaverIsReplacedAtOnce(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c")
		after(time.Minute)
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

func TestCrashIsTakenOverWithinTTLAndASecond(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		f.join("a", "b", "c")
		after(time.Minute)
		f.crash("b")
		within(t, 11*time.Second, "everything runs on the survivors", func() bool {
			loads := f.witness.loads()
			return loads["b"] == 0 && loads["a"]+loads["c"] == 10
		})
		after(5 * time.Second)
		f.balanced("a", "c")
	})
}

func TestDrainMovesEverythingAndKeepsBeating(t *testing.T) {
	bubble(t, 10, func(t *testing.T, f *fleet) {
		f.linger = 3 * time.Second
		f.join("a", "b")
		after(time.Minute)
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
