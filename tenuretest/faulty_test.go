package tenuretest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/storetest"
	"github.com/tenure-go/tenure/tenuretest"
)

func newMemory(t testing.TB) *memory.Store {
	t.Helper()
	s, err := memory.New(memory.Config{Incarnations: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Provision(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// faulty is a store with faults, the store below them, and a session that is open there.
func faulty(t *testing.T) (coordinator.Store, *tenuretest.Faults, *memory.Store, lease.Session) {
	t.Helper()
	m := newMemory(t)
	s := lease.NewSession("a", 10*time.Second)
	if _, err := m.OpenSession(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	store, faults := tenuretest.Faulty(t, m)
	return store, faults, m, s
}

// held reports whether the key is held in the store itself.
func held(t *testing.T, m *memory.Store, key string) bool {
	t.Helper()
	all, err := m.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Key == key {
			return true
		}
	}
	return false
}

// Without a fault the wrapped store is as good as the store: it passes the whole conformance suite.
func TestFaultyWithoutFaultsIsTheStore(t *testing.T) {
	storetest.Run(t, storetest.Config{
		Open: func(t *testing.T) (a, b storetest.Store) {
			m, err := memory.New(memory.Config{Incarnations: true})
			if err != nil {
				t.Fatal(err)
			}
			a, _ = tenuretest.Faulty(t, m)
			b, _ = tenuretest.Faulty(t, m.Handle())
			return a, b
		},
		Bubble: synctest.Test,
	})
}

func TestKindsOfFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault  tenuretest.Fault
		lift   time.Duration // 0: never
		took   time.Duration // until the answer, with a context of 5 s
		unsure bool          // the answer is an unknown outcome
		done   time.Duration // when the key is held; -1: never
	}{
		"fail":                 {fault: tenuretest.Fault{Kind: tenuretest.Fail}, unsure: true, done: -1},
		"half done":            {fault: tenuretest.Fault{Kind: tenuretest.HalfDone}, unsure: true},
		"hang, lifted":         {fault: tenuretest.Fault{Kind: tenuretest.Hang}, lift: 8 * time.Second, took: 8 * time.Second, done: 8 * time.Second},
		"hang for":             {fault: tenuretest.Fault{Kind: tenuretest.Hang, For: 7 * time.Second}, took: 7 * time.Second, done: 7 * time.Second},
		"late":                 {fault: tenuretest.Fault{Kind: tenuretest.Late, Delay: time.Second}, took: time.Second, done: time.Second},
		"late beyond the ctx":  {fault: tenuretest.Fault{Kind: tenuretest.Late, Delay: 6 * time.Second}, took: 6 * time.Second, done: 6 * time.Second},
		"late answer":          {fault: tenuretest.Fault{Kind: tenuretest.LateAnswer, Delay: 6 * time.Second}, took: 6 * time.Second},
		"cut":                  {fault: tenuretest.Fault{Kind: tenuretest.Cut}, took: 5 * time.Second, unsure: true, done: -1},
		"cut, lifted":          {fault: tenuretest.Fault{Kind: tenuretest.Cut}, lift: time.Second, took: time.Second, unsure: true, done: -1},
		"another method":       {fault: tenuretest.Fault{Kind: tenuretest.Fail, On: []tenuretest.Op{tenuretest.OpRenew}}},
		"another contract":     {fault: tenuretest.Fault{Kind: tenuretest.Fail, On: []tenuretest.Op{tenuretest.AllStatusOps}}},
		"this method":          {fault: tenuretest.Fault{Kind: tenuretest.Fail, On: []tenuretest.Op{tenuretest.OpRenew, tenuretest.OpAcquire}}, unsure: true, done: -1},
		"this contract":        {fault: tenuretest.Fault{Kind: tenuretest.Fail, On: []tenuretest.Op{tenuretest.AllLeaseOps}}, unsure: true, done: -1},
		"one call is skipped":  {fault: tenuretest.Fault{Kind: tenuretest.Fail, Skip: 1}},
		"hang and its context": {fault: tenuretest.Fault{Kind: tenuretest.Hang}, lift: 9 * time.Second, took: 9 * time.Second, done: 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, faults, m, s := faulty(t)
				began := time.Now()
				i := faults.Inject(c.fault)
				if c.lift > 0 {
					time.AfterFunc(c.lift, i.Lift)
				}
				var seen time.Duration = -1
				go func() {
					for range 120 {
						if seen < 0 && held(t, m, "k") {
							seen = time.Since(began).Truncate(time.Second)
						}
						time.Sleep(100 * time.Millisecond)
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				g, err := store.Acquire(ctx, s, []string{"k"})
				if took := time.Since(began); took != c.took {
					t.Errorf("answered after %v, want %v", took, c.took)
				}
				if got := errors.Is(err, lease.ErrUnavailable); got != c.unsure || got != errors.Is(err, tenuretest.ErrInjected) || !got && (err != nil || len(g.Leases) != 1) {
					t.Errorf("Acquire: %+v, %v", g, err)
				}
				if c.fault.Kind == tenuretest.Cut && c.lift == 0 && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error does not say why: %v", err)
				}
				pass(13 * time.Second)
				if seen != c.done {
					t.Errorf("the key was held after %v, want %v", seen, c.done)
				}
				if n := faults.Calls(tenuretest.OpAcquire); n != 1 || faults.Calls(tenuretest.AllLeaseOps) != 1 || faults.Calls(tenuretest.OpRenew) != 0 {
					t.Errorf("counted %d calls", n)
				}
			})
		})
	}
}

func TestFaultsFollowEachOtherAsInjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, faults, _, s := faulty(t)
		oops := fmt.Errorf("oops: %w", lease.ErrReadOnlyStore)
		on := []tenuretest.Op{tenuretest.OpRenew}
		first := faults.Inject(tenuretest.Fault{Kind: tenuretest.Fail, On: on, Skip: 1, Times: 2})
		second := faults.Inject(tenuretest.Fault{Kind: tenuretest.Fail, On: on, Times: 1, Err: oops, Skip: 1})
		var got []string
		for range 6 {
			_, err := store.Renew(t.Context(), s)
			what := "unknown"
			if err == nil {
				what = "ok"
			} else if errors.Is(err, oops) {
				what = "oops"
			}
			got = append(got, what)
		}
		if want := []string{"ok", "unknown", "unknown", "oops", "ok", "ok"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if first.Met() != 2 || second.Met() != 1 {
			t.Errorf("met %d and %d", first.Met(), second.Met())
		}
		faults.Inject(tenuretest.Fault{Kind: tenuretest.Fail, For: time.Second})
		_, err := store.Renew(t.Context(), s)
		pass(time.Second)
		_, later := store.Renew(t.Context(), s)
		if err == nil || later != nil {
			t.Errorf("within For: %v, after it: %v", err, later)
		}
	})
}

func TestHealLetsEverythingGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, faults, m, s := faulty(t)
		faults.Inject(tenuretest.Fault{Kind: tenuretest.Hang, On: []tenuretest.Op{tenuretest.OpAcquire}, Times: 1})
		faults.Cut(tenuretest.AllRegistryOps)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := store.Acquire(t.Context(), s, []string{"k"}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := store.Members(t.Context()); !errors.Is(err, registry.ErrUnavailable) {
				t.Errorf("Members: %v", err)
			}
		})
		pass(5 * time.Second)
		if held(t, m, "k") {
			t.Error("a hanging call was done")
		}
		faults.Heal()
		wg.Wait()
		if !held(t, m, "k") {
			t.Error("a call that hung was not carried out")
		}
		if _, err := store.Members(t.Context()); err != nil {
			t.Errorf("after Heal: %v", err)
		}
	})
}

func TestEndOfTheTestFreesWhatHangsAndCarriesNothingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		s := lease.NewSession("a", 10*time.Second)
		_, _ = m.OpenSession(t.Context(), s)
		var err error
		done := make(chan struct{})
		passes(t, func(t testing.TB) {
			store, faults := tenuretest.Faulty(t, m)
			faults.Inject(tenuretest.Fault{Kind: tenuretest.Hang})
			go func() {
				defer close(done)
				_, err = store.Acquire(context.Background(), s, []string{"k"})
			}()
			synctest.Wait()
		})
		<-done
		if !errors.Is(err, lease.ErrUnavailable) || held(t, m, "k") {
			t.Errorf("Acquire: %v", err)
		}
	})
}

func TestContextThatHadEndedMeetsNoFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, faults, m, s := faulty(t)
		faults.Inject(tenuretest.Fault{Kind: tenuretest.Hang})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := store.Acquire(ctx, s, []string{"k"}); !errors.Is(err, context.Canceled) || held(t, m, "k") {
			t.Errorf("Acquire: %v", err)
		}
	})
}
