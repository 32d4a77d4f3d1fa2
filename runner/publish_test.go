package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// only makes a fault of one operation.
func only(name string, f func(context.Context, string) error) func(context.Context, string) error {
	return func(ctx context.Context, op string) error {
		if op != name {
			return nil
		}
		return f(ctx, op)
	}
}

// states returns the published state of each key.
func states(t *testing.T, store *testStore) map[string]status.State {
	t.Helper()
	all, err := store.AllStatuses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]status.State{}
	for _, r := range all {
		out[r.Key] = r.State
	}
	return out
}

// Where the store makes trips the write rides with a renewal, which jitter may bring early, and costs none of its own;
// one that goes alone never comes early.
//
// Failure F10.
func TestSteadyStateCostsOneEmptyStatusWriteAndOneRenewalPerInterval(t *testing.T) {
	for name, trips := range map[string]bool{"in calls": false, "in trips": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { steadyState(t, trips) })
		})
	}
}

func steadyState(t *testing.T, trips bool) {
	store := newStore(t)
	var m lease.Manager = store
	cfg := Config{Timing: exact, Status: store}
	cfg.Timing.Jitter = 0 // the default, 10 %
	if !trips {
		m = struct{ lease.Manager }{store}
	}
	set := mustSet(t, m, "a", cfg)
	for i := range 300 {
		mustStart(t, set, Spec{Key: fmt.Sprint("job", i), Name: "a job", Info: "why", Work: untilDrain})
	}
	s := begin(t, set.Run)
	pass(cfg.Timing.LeaseTTL)
	if got := states(t, store); len(got) != 300 || got["job7"] != status.Active {
		t.Errorf("%d published, job7 %q", len(got), got["job7"])
	}
	before := len(store.batches())
	if n := before; n > 50 { // a handful, as the scheduler likes
		t.Errorf("%d writes for 300 starts and five intervals: they are not coalesced", n)
	}
	was := map[string]int{}
	for _, op := range []string{"PutStatus", "Renew", "Tick"} {
		was[op] = store.count(op)
	}
	pass(100 * 2 * time.Second)
	done := func(op string) int { return store.count(op) - was[op] }
	puts, renews, most := done("PutStatus"), done("Renew"), 100
	if trips {
		most = done("Tick") // each of them is aboard
	}
	if puts > most || puts < 85 || renews > 112 || trips != (done("Tick") == renews) {
		t.Errorf("in 100 intervals: %d status writes, %d renewals, %d trips", puts, renews, done("Tick"))
	}
	for _, b := range store.batches()[before:] {
		if len(b) != 0 {
			t.Fatalf("%d records written in steady state", len(b))
		}
	}
	all, _ := store.AllStatuses(t.Context())
	if r := all[0]; r.Name != "a job" || r.Info != "why" || r.Owner != "a" || r.Token == 0 || r.TTLLeft > cfg.Timing.LeaseTTL {
		t.Errorf("%+v", r)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	for key, state := range states(t, store) {
		if state != status.Inactive {
			t.Errorf("%s is %s after Run", key, state)
		}
	}
}

func TestTransitionsArePublishedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{Status: store})
		mustStart(t, set, Spec{Key: "job", Work: func(_ context.Context, term *Term) error {
			<-term.Draining()
			time.Sleep(time.Minute / 3)
			return nil
		}})
		s := begin(t, set.Run)
		if got := states(t, store)["job"]; got != status.Active {
			t.Errorf("%q", got)
		}
		pass(time.Second)
		set.Stop("job")
		synctest.Wait()
		if got := states(t, store)["job"]; got != status.Transferring {
			t.Errorf("%q", got)
		}
		pass(time.Minute / 3) // longer than a record lives: it is extended meanwhile
		if got := states(t, store)["job"]; got != status.Inactive {
			t.Errorf("%q", got)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAHangingStatusStoreDelaysAReleaseByItsBoundOnly(t *testing.T) {
	slow := func(context.Context, string) error {
		time.Sleep(20 * time.Second) // whatever its context says
		return errDown
	}
	for name, fault := range map[string]func(context.Context, string) error{"failing": down, "hanging": slow} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				store.fault(only("PutStatus", fault))
				set := mustSet(t, store, "a", Config{Status: store})
				mustStart(t, set, Spec{Key: "job", Work: untilDrain}, Spec{Key: "steady", Work: untilDrain})
				s := begin(t, set.Run)
				equal(t, "running", set.Running(), []string{"job", "steady"})
				pass(time.Minute)
				set.Stop("job")
				pass(2*time.Second + time.Millisecond)
				equal(t, "running", set.Running(), []string{"steady"})
				equal(t, "keys", set.Keys(), []string{"steady"})
				if i, _ := set.Lookup("steady"); i.State != Active || i.Restarts != 0 {
					t.Errorf("%+v", i)
				}
				store.fault(nil)
				pass(5 * time.Second) // what was not written is written now
				if got := states(t, store); got["steady"] != status.Active || got["job"] != status.Inactive {
					t.Errorf("%v", got)
				}
				if err := s.stop(); err != nil {
					t.Error(err)
				}
				pass(time.Minute)
			})
		})
	}
}

func TestFailingStatusStoreIsAskedOncePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		store.fault(only("PutStatus", down))
		rec := &recorder{}
		r := mustRunner(t, store, "a", untilDrain, Config{Status: store, Observers: []any{rec}})
		s := begin(t, r.Run)
		pass(200 * time.Second)
		if n := store.count("PutStatus"); n < 90 || n > 101 {
			t.Errorf("%d calls in 100 intervals", n)
		}
		if e := rec.writes.get()[0]; e.Records != 1 || !errors.Is(e.Err, errDown) {
			t.Errorf("%+v", e)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStatusIsRestatedAfterAnOutageThatOutlivedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{Status: store})
		mustStart(t, set, Spec{Key: "job", Work: untilDrain}, Spec{Key: "winding", Work: untilCancelled})
		s := begin(t, set.Run)
		set.Stop("winding")
		pass(time.Second)
		store.fault(only("PutStatus", down))
		pass(2 * exact.LeaseTTL)
		if got := states(t, store); len(got) != 0 {
			t.Errorf("%v", got)
		}
		store.fault(nil)
		pass(3 * time.Second)
		if got := states(t, store); got["job"] != status.Active || got["winding"] != status.Transferring {
			t.Errorf("%v", got)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStatusIsRestatedWhenTheStoreBeginsANewLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGuardedStore(t)
		r := mustRunner(t, store, "a", untilDrain, Config{Status: store})
		empty := store.Snapshot()
		s := begin(t, r.Run)
		pass(time.Second)
		store.Restore(empty)
		if got := states(t, store); len(got) != 0 {
			t.Errorf("%v", got)
		}
		pass(6 * time.Second)
		if got := states(t, store); got["job"] != status.Active || r.Info().Restarts != 0 {
			t.Errorf("%v, %+v", got, r.Info())
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestOldOwnersInactiveHidesNoSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		a := mustRunner(t, store, "a", untilCancelled, Config{Status: store})
		sa := begin(t, a.Run)
		store.fault(hang) // a is cut off, b takes over after the TTL
		b := mustRunner(t, store.another(), "b", untilDrain, Config{Status: store.another()})
		sb := begin(t, b.Run)
		pass(11 * time.Second)
		if !b.Held() {
			t.Fatal("b did not take over")
		}
		store.fault(nil)
		pass(10 * time.Second) // a's last words arrive
		all, _ := store.AllStatuses(t.Context())
		if len(all) != 1 || all[0].Owner != "b" || all[0].State != status.Active {
			t.Errorf("%+v", all)
		}
		if err := errors.Join(sa.stop(), sb.stop()); err != nil {
			t.Error(err)
		}
		pass(time.Hour)
	})
}

func TestLargeBatchesAreSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{Status: store})
		const n = 2*mostRecords + 500
		for i := range n {
			mustStart(t, set, Spec{Key: fmt.Sprintf("job%05d", i), Work: untilDrain})
		}
		s := begin(t, set.Run)
		written := 0
		for _, b := range store.batches() {
			written += len(b)
			if len(b) > mostRecords {
				t.Errorf("a batch of %d", len(b))
			}
		}
		if got := states(t, store); len(got) != n || written != n {
			t.Errorf("%d published in %d records, want %d", len(got), written, n)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		for key, state := range states(t, store) {
			if state != status.Inactive {
				t.Fatalf("%s is %s", key, state)
			}
		}
	})
}
