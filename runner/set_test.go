package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/goroutine"
	"github.com/tenure-go/tenure/internal/long"
)

func TestOneWorkloadsTroubleTouchesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		let := make(chan struct{})
		set := mustSet(t, store, "a", Config{Status: store})
		mustStart(t, set,
			Spec{Key: "fails", Work: func(context.Context, *Term) error { return errWork }},
			Spec{Key: "good", Work: untilDrain},
			Spec{Key: "hangs", Work: func(context.Context, *Term) error { <-let; return nil }},
			Spec{Key: "panics", Work: func(context.Context, *Term) error { panic("oh") }},
			Spec{Key: "slow", Work: func(_ context.Context, term *Term) error {
				<-term.Draining()
				time.Sleep(20 * time.Second)
				return nil
			}},
		)
		s := begin(t, set.Run)
		set.Stop("hangs")
		set.Stop("slow")
		for range 100 {
			pass(3 * time.Second)
			if i, _ := set.Lookup("good"); i.State != Active || i.Restarts != 0 || i.Left < 6*time.Second {
				t.Fatalf("%+v", i)
			}
		}
		if i, _ := set.Lookup("panics"); i.Failures < 5 {
			t.Errorf("%+v", i)
		}
		mustStart(t, set, Spec{Key: "new", Work: untilDrain})
		synctest.Wait()
		if i, _ := set.Lookup("new"); i.State != Active {
			t.Errorf("%+v", i)
		}
		err := s.stop()
		var stuck *StuckError
		if !errors.As(err, &stuck) || len(stuck.Keys) != 1 || stuck.Keys[0] != "hangs" {
			t.Errorf("Run: %v", err)
		}
		equal(t, "keys", set.Keys(), []string{"hangs"})
		close(let)
		synctest.Wait()
	})
}

func TestStartAndStopBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{})
		mustStart(t, set, Spec{Key: "kept", Work: untilDrain}, Spec{Key: "dropped", Work: never(t)})
		set.Stop("dropped")
		equal(t, "keys", set.Keys(), []string{"kept"})
		s := begin(t, set.Run)
		equal(t, "running", set.Running(), []string{"kept"})
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if len(set.Keys()) != 0 || len(set.Snapshot()) != 0 {
			t.Errorf("keys %v", set.Keys())
		}
	})
}

func TestFinishedWorkStaysUntilItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{})
		mustStart(t, set, Spec{Key: "job", Work: func(context.Context, *Term) error { return nil }})
		s := begin(t, set.Run)
		pass(time.Hour)
		i, ok := set.Lookup("job")
		if !ok || i.State != Stopped || i.Restarts != 0 || i.Last.End != EndReturned || len(set.Running()) != 0 {
			t.Errorf("%+v", i)
		}
		if n := store.count("Acquire"); n != 1 {
			t.Errorf("acquired %d times", n)
		}
		set.Stop("job")
		if _, ok := set.Lookup("job"); ok {
			t.Error("still there")
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestDrainAllIsOverWhenTheLastKeyIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{})
		for i := range 5 {
			mustStart(t, set, Spec{Key: fmt.Sprint("job", i), Work: func(_ context.Context, term *Term) error {
				<-term.Draining()
				time.Sleep(time.Duration(i) * time.Second)
				return nil
			}})
		}
		s := begin(t, set.Run)
		began := time.Now()
		set.DrainAll()
		<-set.Drained()
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("drained after %v", took)
		}
		if held, _ := store.Leases(t.Context()); len(held) != 0 {
			t.Errorf("held %v", held)
		}
		select {
		case <-s.done:
			t.Error("Run of a set ends by its context alone")
		default:
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestThousandsOfWorkloadsCostOneGoroutineEachAndAConstant(t *testing.T) {
	thousands := long.Or(10_000, 2_000)
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		before := goroutine.Count(pass)
		cost := func(n int) int {
			set := mustSet(t, store, "a", Config{Status: store, Observers: []any{&recorder{}}})
			for i := range n {
				mustStart(t, set, Spec{Key: fmt.Sprintf("job%05d", i), Work: func(ctx context.Context, term *Term) error {
					<-term.Draining()
					return ctx.Err()
				}})
			}
			s := begin(t, set.Run)
			pass(time.Minute)
			if got := len(set.Running()); got != n {
				t.Fatalf("%d of %d run", got, n)
			}
			count := goroutine.Count(pass) - before
			began := time.Now()
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("the stop of %d workloads took %v of virtual time", n, took)
			}
			synctest.Wait()
			return count
		}
		one, many := cost(1), cost(thousands)
		if many-thousands != one-1 {
			t.Errorf("%d goroutines for 1 workload, %d for %d", one, many, thousands)
		}
		if constant := one - 1; constant > 8 {
			t.Errorf("a set costs %d goroutines", constant)
		}
		if held, _ := store.Leases(t.Context()); len(held) != 0 {
			t.Errorf("%d still held", len(held))
		}
	})
}

func TestStandbyCostsNoGoroutineAndFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		holder := mustSet(t, store, "a", Config{})
		waiter := mustSet(t, store, "b", Config{Status: store})
		const n = 1000
		for i := range n {
			mustStart(t, holder, Spec{Key: fmt.Sprintf("job%04d", i), Work: untilDrain})
		}
		sa := begin(t, holder.Run)
		for i := range n {
			mustStart(t, waiter, Spec{Key: fmt.Sprintf("job%04d", i), Work: untilDrain})
		}
		before := goroutine.Count(pass)
		sb := begin(t, waiter.Run)
		pass(time.Minute)
		if got := goroutine.Count(pass) - before; got > 8 {
			t.Errorf("%d goroutines for waiting", got)
		}
		if i, _ := waiter.Lookup("job0007"); i.State != Standby || i.Holder != "a" {
			t.Errorf("%+v", i)
		}
		if err := sa.stop(); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		if got := len(waiter.Running()); got != n {
			t.Errorf("%d of %d taken over", got, n)
		}
		if err := sb.stop(); err != nil {
			t.Error(err)
		}
	})
}
