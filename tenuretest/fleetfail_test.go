package tenuretest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/tenuretest"
)

// What a fleet is for is that it fails. Each of these does, once, and says why.

type fleet = tenuretest.Fleet[int]

// slow is work that takes its time to return once its context has ended.
func slow(after time.Duration) coordinator.Work[int] {
	return func(ctx context.Context, _ *runner.Term, _ int) error {
		<-ctx.Done()
		time.Sleep(after)
		return nil
	}
}

func TestWitnessSeesAWorkerThatStaysTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := func(work coordinator.Work[int]) func(testing.TB) {
			return func(t testing.TB) {
				f := tenuretest.NewFleet(t, jobs(1), work, tenuretest.FleetConfig{})
				f.Start("a", "b")
				f.Settled()
				f.Cut(f.OwnerOf("job-0"))
				f.Settled()
			}
		}
		passes(t, cut(slow(900*time.Millisecond))) // within the margin of a second
		fails(t, cut(slow(5*time.Second)), `two workers of "job-0": b begins`, "the one on a", "has not returned, though its context has ended", "lease lost",
			"Margin", "what happened before:", "a is cut off")
	})
}

func TestWitnessSeesTwoValidTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails(t, func(t testing.TB) {
			f := tenuretest.NewFleet(t, jobs(1), nil, tenuretest.FleetConfig{})
			f.Start("a")
			f.Settled()
			f.Start("b")
			held, err := f.Store().Leases(t.Context())
			if err != nil || len(held) != 2 || held[0].Key != "job-0" { // the other is the planner's
				t.Fatalf("%v, %v", held, err)
			}
			// A store that breaks its promise: it forgets a living session, and tells its holder nothing.
			f.Faults("a").Inject(tenuretest.Fault{Kind: tenuretest.Hang, On: []tenuretest.Op{tenuretest.AllLeaseOps, tenuretest.AllRegistryOps}})
			if err := f.Store().CloseSession(t.Context(), lease.Session{ID: held[0].Session, Owner: "a", TTL: time.Second}); err != nil {
				t.Fatalf("%v", err)
			}
			if err := f.Store().Leave(t.Context(), "a"); err != nil {
				t.Fatalf("%v", err)
			}
			pass(5 * time.Second)
		}, `two workers of "job-0": b begins`, "holds a valid term")
	})
}

func TestSettledSaysWhatIsMissing(t *testing.T) {
	with := func(work coordinator.Work[int], test func(f *fleet)) func(testing.TB) {
		return func(t testing.TB) {
			f := tenuretest.NewFleet(t, jobs(2), work, tenuretest.FleetConfig{Patience: 5 * time.Second})
			f.Start("a", "b")
			pass(5 * time.Second)
			test(f)
			f.Settled()
		}
	}
	for name, c := range map[string]struct {
		test  func(testing.TB)
		words []string
	}{
		"nobody": {func(t testing.TB) {
			tenuretest.NewFleet(t, jobs(1), nil, tenuretest.FleetConfig{}).Settled()
		}, []string{"no instance runs whose store answers", "has not settled within"}},
		"a dead member": {with(nil, func(f *fleet) { f.Kill("a") }), []string{"within 5s", "a cannot beat, but is a member for another", "a is killed"}},
		"failing work": {with(func(context.Context, *runner.Term, int) error { return errors.New("disk full") }, func(*fleet) {}),
			[]string{"after it failed with", "disk full"}},
		"a lease that cannot be renewed": {with(nil, func(f *fleet) { f.Cut("a", tenuretest.OpRenew) }), []string{`a runs "job-`, "cannot renew its lease"}},
		"targets that cannot be written": {with(nil, func(f *fleet) {
			f.Cut("a", tenuretest.OpPutTargets) // the planner is the first that was there
			f.Start("c")
		}), []string{"c has not been told what to run"}},
		"a move that must wait": {func(t testing.TB) {
			f := tenuretest.NewFleet(t, jobs(6), nil, tenuretest.FleetConfig{Patience: 5 * time.Second})
			f.Start("a", "b", "c") // b and c get two each, which have moved now
			pass(5 * time.Second)
			f.Start("d")
			f.Settled()
		}, []string{"a has put off 1 moves", "cool-down"}},
		"slow handover": {with(slow(0), func(f *fleet) { f.Drain("a") }), []string{"job-", "removing"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { fails(t, c.test, c.words...) })
		})
	}
}

func TestWorkersThatNeverReturnAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		stubborn := func(context.Context, *runner.Term, int) error { <-free; return nil }
		with := func(act func(*fleet)) func(testing.TB) {
			return func(t testing.TB) {
				f := tenuretest.NewFleet(t, jobs(1), stubborn, tenuretest.FleetConfig{})
				f.Start("a")
				f.Settled()
				act(f)
			}
		}
		fails(t, with(func(*fleet) {}), "Run of a", "ignored its cancellation", "job-0")
		fails(t, with(func(f *fleet) { f.Kill("a") }), "a was killed, but its worker goes on for ever", "job-0")
		if got := try(t, with(func(f *fleet) { f.Stop("a") })); len(got) != 2 {
			t.Error(got)
		}
		close(free)
	})
}

func TestFleetRefusesWhatMakesNoSense(t *testing.T) {
	with := func(cfg tenuretest.FleetConfig) func(testing.TB) {
		return func(t testing.TB) { tenuretest.NewFleet(t, jobs(1), nil, cfg) }
	}
	on := func(act func(f *fleet)) func(testing.TB) {
		return func(t testing.TB) {
			f := tenuretest.NewFleet(t, jobs(1), nil, tenuretest.FleetConfig{})
			f.Start("a")
			act(f)
		}
	}
	for name, c := range map[string]struct {
		test  func(testing.TB)
		words []string
	}{
		"instance": {with(tenuretest.FleetConfig{Coordinator: coordinator.Config{Instance: instance.Instance{ID: "x"}}}), []string{"Coordinator.Instance", `"x"`, "Join"}},
		"clock":    {with(tenuretest.FleetConfig{Coordinator: coordinator.Config{Clock: clock.Or(nil)}}), []string{"Coordinator.Clock", "nil"}},
		"timing":   {with(tenuretest.FleetConfig{Coordinator: coordinator.Config{Timing: lease.Timing{Margin: -1}}}), []string{"Timing.Margin", "-1ns"}},
		"patience": {with(tenuretest.FleetConfig{Patience: -1}), []string{"FleetConfig.Patience", "-1ns"}},
		"config": {func(t testing.TB) {
			tenuretest.NewFleet(t, append(jobs(1), jobs(1)...), nil, tenuretest.FleetConfig{}).Start("a")
		}, []string{"Start", "job-0"}},
		"twice":    {on(func(f *fleet) { f.Start("a") }), []string{`an instance "a" already`, "unique"}},
		"unknown":  {on(func(f *fleet) { f.Kill("z") }), []string{`Kill: there is no instance "z"`}},
		"dead":     {on(func(f *fleet) { f.Kill("a"); f.Pause("a") }), []string{`Pause: the instance "a" is killed`}},
		"awake":    {on(func(f *fleet) { f.Resume("a") }), []string{`Resume: the instance "a" is running`}},
		"stopped":  {on(func(f *fleet) { f.Stop("a"); f.Drain("a") }), []string{`Drain: the instance "a" is stopped`}},
		"no job":   {on(func(f *fleet) { f.OwnerOf("job-9") }), []string{"OwnerOf", `"job-9"`}},
		"bad jobs": {on(func(f *fleet) { f.SetWorkloads(append(jobs(1), jobs(1)...)) }), []string{"SetWorkloads", "job-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { fails(t, c.test, c.words...) })
		})
	}
	fails(t, with(tenuretest.FleetConfig{}), "outside a bubble", "synctest.Test")
	fails(t, func(outer testing.TB) {
		synctest.Test(t, func(*testing.T) { tenuretest.NewFleet(outer, jobs(1), nil, tenuretest.FleetConfig{}) })
	}, "the t from outside its bubble")
}
