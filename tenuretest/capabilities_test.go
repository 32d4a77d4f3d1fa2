package tenuretest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tenuretest"
)

func TestHints(t *testing.T) {
	for name, c := range map[string]struct {
		fault  tenuretest.Fault
		broken bool // the open stream ends at once
		heard  bool // a release is hinted at
	}{
		"fail":             {tenuretest.Fault{Kind: tenuretest.Fail}, true, false},
		"cut":              {tenuretest.Fault{Kind: tenuretest.Cut}, true, false},
		"half done":        {tenuretest.Fault{Kind: tenuretest.HalfDone}, true, false},
		"hang":             {tenuretest.Fault{Kind: tenuretest.Hang}, false, false},
		"late":             {tenuretest.Fault{Kind: tenuretest.Late, Delay: time.Second}, false, true},
		"late answer":      {tenuretest.Fault{Kind: tenuretest.LateAnswer, Delay: time.Second}, false, true},
		"another contract": {tenuretest.Fault{Kind: tenuretest.Cut, On: []tenuretest.Op{tenuretest.AllRegistryOps}}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, faults, m, s := faulty(t)
				g, err := m.Acquire(t.Context(), s, []string{"k"})
				if err != nil {
					t.Fatal(err)
				}
				heard := map[lease.ChangeKind]int{}
				watch := func(ctx context.Context) error {
					return store.(lease.Watcher).Watch(ctx, func(c lease.Change) { heard[c.Kind]++ })
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- watch(ctx) }()
				synctest.Wait()
				i := faults.Inject(c.fault)
				synctest.Wait()
				if err := m.Release(t.Context(), s, g.Leases); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if (heard[lease.ChangeReleased] > 0) != c.heard || (len(ended) > 0) != c.broken || heard[lease.ChangeResync] != 1 {
					t.Errorf("heard %v, broken %v", heard, len(ended) > 0)
				}
				i.Lift()
				synctest.Wait()
				if !c.heard { // it was broken by now, and a new one begins with a resync
					if err := <-ended; !errors.Is(err, lease.ErrUnavailable) || !errors.Is(err, tenuretest.ErrInjected) {
						t.Errorf("Watch: %v", err)
					}
					go func() { ended <- watch(ctx) }()
					synctest.Wait()
					if heard[lease.ChangeResync] != 2 {
						t.Errorf("heard %v", heard)
					}
				}
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("Watch: %v", err)
				}
			})
		})
	}
}

// bare hides the optional capabilities of a store.
type bare struct {
	lease.Manager
	registry.Registry
	status.Store
}

func TestCapabilitiesAreThoseOfTheStore(t *testing.T) {
	m := newMemory(t)
	type revoker struct {
		bare
		lease.Revoker
	}
	type lister struct {
		bare
		lease.Lister
	}
	type watcher struct {
		bare
		lease.Watcher
	}
	type listerWatcher struct {
		bare
		lease.Lister
		lease.Watcher
	}
	type listerRevoker struct {
		bare
		lease.Lister
		lease.Revoker
	}
	type watcherRevoker struct {
		bare
		lease.Watcher
		lease.Revoker
	}
	type planner struct {
		bare
		assigner.Targets
	}
	type plannerLister struct {
		bare
		assigner.Targets
		lease.Lister
	}
	type plannerWatcher struct {
		bare
		assigner.Targets
		lease.Watcher
	}
	type plannerRevoker struct {
		bare
		assigner.Targets
		lease.Revoker
	}
	type plannerListerWatcher struct {
		bare
		assigner.Targets
		lease.Lister
		lease.Watcher
	}
	type plannerListerRevoker struct {
		bare
		assigner.Targets
		lease.Lister
		lease.Revoker
	}
	type plannerWatcherRevoker struct {
		bare
		assigner.Targets
		lease.Watcher
		lease.Revoker
	}
	type listerWatcherRevoker struct {
		bare
		lease.Lister
		lease.Watcher
		lease.Revoker
	}
	b := bare{m, m, m}
	for _, s := range []coordinator.Store{
		m, b, revoker{b, m}, lister{b, m}, watcher{b, m}, listerWatcher{b, m, m}, listerRevoker{b, m, m}, watcherRevoker{b, m, m},
		listerWatcherRevoker{b, m, m, m}, planner{b, m}, plannerLister{b, m, m}, plannerWatcher{b, m, m}, plannerRevoker{b, m, m},
		plannerListerWatcher{b, m, m, m}, plannerListerRevoker{b, m, m, m}, plannerWatcherRevoker{b, m, m, m},
	} {
		w, _ := tenuretest.Faulty(t, s)
		part, _ := tenuretest.Faulty(t, &coordinator.Separate{Manager: s, Registry: b, Store: b})
		for _, got := range []any{w, part.(coordinator.Separate).Manager} {
			for name, has := range map[string]func(any) bool{
				"lister":  func(x any) bool { _, ok := x.(lease.Lister); return ok },
				"watcher": func(x any) bool { _, ok := x.(lease.Watcher); return ok },
				"planner": func(x any) bool { _, ok := x.(assigner.Targets); return ok },
				"revoker": func(x any) bool { _, ok := x.(lease.Revoker); return ok },
			} {
				if has(got) != has(s) {
					t.Errorf("%T: %s is %v, and %v when wrapped", s, name, has(s), has(got))
				}
			}
		}
	}
	w, _ := tenuretest.Faulty(t, revoker{b, m})
	if err := w.(lease.Provisioner).Provision(t.Context()); err != nil {
		t.Errorf("Provision of a store that never freezes: %v", err)
	}
}

func TestSeparateStoresStaySeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases, members := newMemory(t), newMemory(t)
		type noHints struct{ registry.Registry }
		store, faults := tenuretest.Faulty(t, coordinator.Separate{Manager: leases, Registry: members, Store: leases})
		s := store.(coordinator.Separate)
		if _, ok := s.Registry.(lease.Watcher); !ok {
			t.Error("the registry's hints are gone")
		}
		store, _ = tenuretest.Faulty(t, coordinator.Separate{Manager: leases, Registry: noHints{members}, Store: leases})
		if _, ok := store.(coordinator.Separate).Registry.(lease.Watcher); ok {
			t.Error("the registry has hints that it had not")
		}
		store, _ = tenuretest.Faulty(t, coordinator.Separate{})
		if empty := store.(coordinator.Separate); empty.Manager != nil || empty.Registry != nil || empty.Store != nil {
			t.Error("what was nil is not")
		}
		faults.Cut(tenuretest.AllRegistryOps)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Members(ctx); !errors.Is(err, registry.ErrUnavailable) {
			t.Errorf("Members: %v", err)
		}
		if _, err := s.AllStatuses(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("AllStatuses: %v", err)
		}
		faults.Wipe() // of the lease manager
	})
}

func TestWipedStoreIsProvenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, faults, m, s := faulty(t)
		g, err := store.Acquire(t.Context(), s, []string{"k"})
		if err != nil {
			t.Fatal(err)
		}
		faults.Wipe()
		if held(t, m, "k") {
			t.Error("the data is still there")
		}
		r, err := store.Renew(t.Context(), s)
		if err != nil || r.Incarnation.FrozenFor == 0 {
			t.Errorf("Renew: %+v, %v", r, err)
		}
		if v, err := store.Verify(t.Context(), s, g.Leases); err != nil || len(v.Lost) > 0 || !held(t, m, "k") {
			t.Errorf("Verify: %+v, %v", v, err)
		}
	})
}

func TestFaultyHelpersFailWithAReason(t *testing.T) {
	inject := func(f tenuretest.Fault) func(testing.TB) {
		return func(t testing.TB) {
			_, faults := tenuretest.Faulty(t, newMemory(t))
			faults.Inject(f)
		}
	}
	for name, c := range map[string]struct {
		test  func(testing.TB)
		words []string
	}{
		"no store":       {func(t testing.TB) { tenuretest.Faulty(t, nil) }, []string{"the store is nil"}},
		"no kind":        {inject(tenuretest.Fault{}), []string{"Fault.Kind", `""`, "half done"}},
		"method":         {inject(tenuretest.Fault{Kind: tenuretest.Fail, On: []tenuretest.Op{"Rnew"}}), []string{"Fault.On[0]", `"Rnew"`, "Renew"}},
		"no delay":       {inject(tenuretest.Fault{Kind: tenuretest.Late}), []string{"Fault.Delay", "above 0"}},
		"useless delay":  {inject(tenuretest.Fault{Kind: tenuretest.Hang, Delay: 1}), []string{"Fault.Delay", "must be 0"}},
		"useless error":  {inject(tenuretest.Fault{Kind: tenuretest.Hang, Err: lease.ErrClosed}), []string{"Fault.Err", "must be nil"}},
		"lying error":    {inject(tenuretest.Fault{Kind: tenuretest.HalfDone, Err: lease.ErrClosed}), []string{"Fault.Err", "ErrUnavailable"}},
		"late hints":     {inject(tenuretest.Fault{Kind: tenuretest.Late, Delay: 1, On: []tenuretest.Op{tenuretest.OpWatch}}), []string{"Fault.On", "Watch"}},
		"times":          {inject(tenuretest.Fault{Kind: tenuretest.Fail, Times: -1}), []string{"Fault.Times", "-1"}},
		"skip":           {inject(tenuretest.Fault{Kind: tenuretest.Fail, Skip: -1}), []string{"Fault.Skip", "-1"}},
		"for":            {inject(tenuretest.Fault{Kind: tenuretest.Fail, For: -1}), []string{"Fault.For", "-1ns"}},
		"wipe of others": {func(t testing.TB) { _, f := tenuretest.Faulty(t, bare{}); f.Wipe() }, []string{"Wipe", "not a *memory.Store"}},
		"unguarded wipe": {func(t testing.TB) {
			m, _ := memory.New(memory.Config{})
			_, f := tenuretest.Faulty(t, m)
			f.Wipe()
		}, []string{"Config.Incarnations"}},
	} {
		t.Run(name, func(t *testing.T) { fails(t, c.test, c.words...) })
	}
}

func TestFaultsAreSafeForConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, faults, _, s := faulty(t)
		kinds := []tenuretest.Kind{tenuretest.Fail, tenuretest.HalfDone, tenuretest.Hang, tenuretest.Cut}
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				for range 50 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					_, _ = store.Acquire(ctx, s, []string{fmt.Sprint("k", n)})
					_, _ = store.Members(ctx)
					cancel()
				}
			})
			wg.Go(func() {
				for range 50 {
					i := faults.Inject(tenuretest.Fault{Kind: kinds[n%len(kinds)], Times: 3, For: time.Second})
					time.Sleep(10 * time.Millisecond)
					if n%2 == 0 {
						i.Lift()
					}
					_ = i.Met()
					_ = faults.Calls(tenuretest.OpAcquire)
				}
			})
		}
		wg.Wait()
		faults.Heal()
		if n := faults.Calls(tenuretest.OpMembers); n != 400 {
			t.Errorf("counted %d calls", n)
		}
	})
}

func TestEveryMethodMeetsTheFaultsOfItsNameAndContract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, faults, _, s := faulty(t)
		ctx, cancel := context.WithCancel(t.Context())
		a := store.(interface {
			coordinator.Store
			lease.Lister
			lease.Revoker
			lease.Provisioner
			lease.Watcher
			assigner.Targets
		})
		for contract, methods := range map[tenuretest.Op]map[tenuretest.Op]func(){
			tenuretest.AllLeaseOps: {
				tenuretest.OpOpenSession:  func() { _, _ = a.OpenSession(ctx, s) },
				tenuretest.OpAcquire:      func() { _, _ = a.Acquire(ctx, s, nil) },
				tenuretest.OpRenew:        func() { _, _ = a.Renew(ctx, s) },
				tenuretest.OpVerify:       func() { _, _ = a.Verify(ctx, s, nil) },
				tenuretest.OpRelease:      func() { _ = a.Release(ctx, s, nil) },
				tenuretest.OpCloseSession: func() { _ = a.CloseSession(ctx, s) },
				tenuretest.OpLeases:       func() { _, _ = a.Leases(ctx) },
				tenuretest.OpRevoke:       func() { _ = a.Revoke(ctx, "k") },
				tenuretest.OpProvision:    func() { _ = a.Provision(ctx) },
				tenuretest.OpWatch:        func() { go func() { _ = a.Watch(ctx, func(lease.Change) {}) }(); synctest.Wait() },
			},
			tenuretest.AllRegistryOps: {
				tenuretest.OpHeartbeat:  func() { _, _ = a.Heartbeat(ctx, registry.Self{}, time.Second, 0) },
				tenuretest.OpMembers:    func() { _, _ = a.Members(ctx) },
				tenuretest.OpBeginDrain: func() { _ = a.BeginDrain(ctx, "a") },
				tenuretest.OpLeave:      func() { _ = a.Leave(ctx, "a") },
			},
			tenuretest.AllStatusOps: {
				tenuretest.OpPutStatus:   func() { _ = a.PutStatus(ctx, "a", time.Second, nil) },
				tenuretest.OpStatuses:    func() { _, _ = a.Statuses(ctx, nil) },
				tenuretest.OpAllStatuses: func() { _, _ = a.AllStatuses(ctx) },
			},
			tenuretest.AllTargetOps: {
				tenuretest.OpPutTargets: func() { _ = a.PutTargets(ctx, assigner.Head{Token: 1, Planner: "a"}, nil, nil) },
				tenuretest.OpTargetsOf:  func() { _, _, _ = a.TargetsOf(ctx, "a") },
				tenuretest.OpAllTargets: func() { _, _, _ = a.AllTargets(ctx) },
			},
		} {
			for op, call := range methods {
				before := faults.Calls(contract)
				one := faults.Inject(tenuretest.Fault{Kind: tenuretest.Fail, On: []tenuretest.Op{op}, Times: 1})
				call()
				if faults.Calls(op) != 1 || faults.Calls(contract) != before+1 || one.Met() != 1 {
					t.Errorf("%s of %s: counted %d, of the contract %d, met %d", op, contract, faults.Calls(op), faults.Calls(contract)-before, one.Met())
				}
			}
		}
		cancel()
	})
}
