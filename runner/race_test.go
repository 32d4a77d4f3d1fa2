package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The tests of this file put the loop, the keeper and the store into an order that is rare.

// Failure 9.
func TestALoopThatWasHeldUpStartsNoWorkUnderALostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{Status: store})
		mustStart(t, set, Spec{Key: "job", Work: never(t)})
		ctx, cancel := context.WithCancel(t.Context())
		if err := set.begin(ctx, ctx, false); err != nil {
			t.Fatal(err)
		}
		kept := make(chan struct{})
		go func() { _ = set.keeper.Run(ctx); close(kept) }()
		synctest.Wait() // granted, and nobody looks
		store.fault(down)
		pass(10 * time.Second) // lost, and nobody looks
		store.fault(nil)
		set.handle()
		synctest.Wait()
		set.handle()
		if i, _ := set.Lookup("job"); i.State != Standby || i.Restarts != 0 || i.Last.Token != 0 || set.working != 0 {
			t.Errorf("%+v", i)
		}
		cancel()
		<-kept
		if err := set.finish(); err != nil {
			t.Error(err)
		}
		if store.count("PutStatus") != 0 {
			t.Error("it wrote a status")
		}
	})
}

func TestWorkThatIsFasterThanTheNewsOfItsLossDidNotFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{Restart: Never})
		mustStart(t, set, Spec{Key: "job", Work: untilCancelled})
		ctx, cancel := context.WithCancel(t.Context())
		if err := set.begin(ctx, ctx, false); err != nil {
			t.Fatal(err)
		}
		kept := make(chan struct{})
		go func() { _ = set.keeper.Run(ctx); close(kept) }()
		synctest.Wait()
		set.handle() // the work starts
		store.fault(down)
		pass(10 * time.Second)
		events := set.inbox.take()
		if len(events) != 2 {
			t.Fatalf("%d events, want the loss and the return", len(events))
		}
		set.mu.Lock()
		events[1]() // the return comes first
		events[0]()
		set.mu.Unlock()
		synctest.Wait()
		set.handle()
		if i, _ := set.Lookup("job"); i.Failures != 0 || i.State != Standby || i.Last.End != EndLost {
			t.Errorf("%+v", i)
		}
		cancel()
		<-kept
		if err := set.finish(); err != nil {
			t.Error(err)
		}
	})
}

func TestStepDownDuringAnAcquireLetsTheGrantGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		asked, answer := make(chan struct{}), make(chan struct{})
		first := true
		store.after = func(op string) error {
			if op == "Acquire" && first {
				first = false
				close(asked)
				<-answer
			}
			return nil
		}
		var starts list[time.Time]
		r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			starts.add(time.Now())
			return untilDrain(ctx, term)
		}, Config{})
		s := begin(t, r.Run)
		<-asked
		down := time.Now()
		if err := r.StepDown(t.Context()); err != nil {
			t.Error(err)
		}
		close(answer)
		synctest.Wait()
		if held, _ := store.Leases(t.Context()); len(held) != 0 {
			t.Errorf("kept from others: %v", held)
		}
		pass(time.Minute)
		if got := starts.get(); len(got) != 1 || got[0].Sub(down) < exact.LeaseTTL {
			t.Errorf("started %v, stepped down at %v", got, down)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestEndsThatCrossEachOther(t *testing.T) {
	// The work returns, the drain begins, the lease is lost and Run ends at the same instant, in
	// whatever order the scheduler likes.
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			store := newStore(t)
			rec := &recorder{}
			r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
				select {
				case <-time.After(9 * time.Second):
				case <-ctx.Done():
				case <-term.Draining():
				}
				return ctx.Err()
			}, Config{Status: store, Observers: []any{rec}, Restart: Always})
			s := begin(t, r.Run)
			store.fault(down)
			time.Sleep(9 * time.Second)
			go func() { _ = r.StepDown(context.Background()) }()
			go func() { _ = r.BeginDrain(context.Background()) }()
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			path := rec.path()
			if works := rec.works.get(); len(works) != 1 || path[len(path)-1] != Stopped || r.Info().Failures != 0 {
				t.Errorf("%v, %+v", path, works)
			}
		})
	}
}
