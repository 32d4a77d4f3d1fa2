package metrics_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/metrics"
	"github.com/tenure-go/tenure/runner"
)

// member is an instance of a fleet, with what it measured.
type member struct {
	*coordinator.Coordinator[int]
	o      *metrics.Observer
	l      *ledger
	cancel context.CancelFunc
	done   chan error
}

func join(t *testing.T, store coordinator.Store, workloads int, planning coordinator.Planning) *member {
	t.Helper()
	o, l := watched(t, metrics.Config{})
	catalogue := make([]coordinator.Workload[int], workloads)
	for i := range catalogue {
		catalogue[i].Key = fmt.Sprintf("job-%02d", i)
	}
	c, err := coordinator.New(store, catalogue, func(ctx context.Context, term *runner.Term, _ int) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-term.Draining():
			time.Sleep(time.Second)
			return nil
		}
	}, coordinator.Config{Instance: instance.Instance{ID: instance.New()}, Timing: lease.Timing{Jitter: -1}, Planning: planning, Observers: []any{o}})
	if err != nil {
		t.Fatal(err)
	}
	m := &member{Coordinator: c, o: o, l: l, done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	m.cancel = cancel
	go func() { m.done <- c.Run(ctx) }()
	return m
}

func (m *member) leave(t *testing.T) {
	t.Helper()
	m.cancel()
	if err := <-m.done; err != nil {
		t.Error(err)
	}
}

// sum adds a gauge or counter up over the members.
func sum(ms []*member, id string) (n float64) {
	for _, m := range ms {
		n += m.l.gauges(m.o)[id] + m.l.count(id)
	}
	return n
}

func moves(m *member) (n float64) {
	for _, reason := range []string{"orphan", "evict", "rollout", "pin", "level", "other"} {
		n += m.l.count("plan.moves " + reason)
	}
	return n
}

func TestAFleetWhereEveryonePlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		fleet := []*member{}
		for range 3 {
			fleet = append(fleet, join(t, store, 24, coordinator.PlanningEveryone))
			pass(time.Second)
		}
		pass(time.Minute)
		if got := sum(fleet, "catalogue.held"); got != 24 {
			t.Errorf("%v of 24 are held", got)
		}
		before, least := moves(fleet[0]), fleet[0].l.count("plan.moves_minimum")
		fleet = append(fleet, join(t, store, 24, coordinator.PlanningEveryone))
		pass(time.Minute)
		for _, m := range fleet {
			m.l.want(m.o, map[string]float64{
				"members active": 4, "members inactive": 0, "catalogue.workloads": 24, "catalogue.held": 6, "assigned.workloads": 6,
				"unplaceable.workloads": 0, "planner.holding": -1, "workloads active": 6,
			})
		}
		// A fourth instance takes 6 of 24: no assigner could do with fewer.
		if m, l := moves(fleet[0])-before, fleet[0].l.count("plan.moves_minimum")-least; m != 6 || l != 6 {
			t.Errorf("%v moves, the minimum is %v", m, l)
		}
		if got := fleet[3].l.count("terms.started handover"); got != 6 {
			t.Errorf("%v handovers: %v", got, fleet[3].l.counts)
		}
		for _, wait := range fleet[3].l.records["handover.duration wait"] {
			if wait > 10 {
				t.Errorf("waited for %v s", wait)
			}
		}
		for _, m := range fleet {
			m.leave(t)
		}
	})
}

func TestAFleetWithAPlanner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		fleet := []*member{}
		for range 4 {
			fleet = append(fleet, join(t, store, 24, coordinator.PlanningPlanner))
			pass(time.Second)
		}
		pass(5 * time.Minute)
		if held, catalogues := sum(fleet, "catalogue.held"), sum(fleet, "catalogue.workloads"); held != 24 || catalogues != 24 {
			t.Errorf("%v of %v are held; one instance alone tells of 24", held, catalogues)
		}
		if got := sum(fleet, "is_leader tenure:planner"); got != 1 {
			t.Errorf("%v planners", got)
		}
		if elected, obeyed := sum(fleet, "planner.decisions elected"), sum(fleet, "planner.decisions obeyed"); elected != 1 || obeyed < 4 {
			t.Errorf("%v elected, %v obeyed", elected, obeyed)
		}
		if m, l := moves(fleet[0]), fleet[0].l.count("plan.moves_minimum"); m != 18 || l < 12 || l > m {
			t.Errorf("%v moves, the minimum is %v", m, l)
		}
		fleet[0].leave(t) // the planner
		pass(time.Minute)
		fleet[0].l.want(fleet[0].o, map[string]float64{"catalogue.workloads": -1, "planner.holding": -1, "is_leader tenure:planner": -1, "is_leader job-00": -1})
		if held, catalogues := sum(fleet[1:], "catalogue.held"), sum(fleet[1:], "catalogue.workloads"); held != 24 || catalogues != 24 {
			t.Errorf("%v of %v are held after the planner has left", held, catalogues)
		}
		for _, m := range fleet[1:] {
			m.leave(t)
		}
	})
}

// Only the planner knows why a workload moves, and only the plan's target asks for its key: that its owner died is told
// by the store.
func TestACrashInAFleetWithAPlannerIsAFailoverOfEachWorkload(t *testing.T) {
	for _, dies := range []string{"planner", "another"} {
		t.Run(dies, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				fleet, cables := []*member{}, []*cable{}
				for range 4 {
					c := &cable{Store: store}
					cables = append(cables, c)
					fleet = append(fleet, join(t, c, 24, coordinator.PlanningPlanner))
					pass(time.Second)
				}
				pass(5 * time.Minute)
				if n := sum(fleet, "terms.started failover"); n != 0 {
					t.Errorf("%v failovers before anything failed", n)
				}
				at := 0
				if dies == "another" {
					at = 3
				}
				rest := append(fleet[:at:at], fleet[at+1:]...)
				before := ended(rest)
				cables[at].set(true)
				fleet[at].cancel()
				pass(5 * time.Minute)
				lost, handed, others := 6.0, 0.0, 0.0
				if dies == "planner" {
					lost++ // and its plan
				}
				now := ended(rest)
				for i, want := range []float64{lost, handed, others} {
					if got := now[i] - before[i]; got != want {
						t.Errorf("%v terms began for the cause %s, want %v", got, []string{"failover", "handover", "other"}[i], want)
					}
				}
				for _, m := range rest {
					for _, s := range m.l.records["unowned.duration failover"] {
						if s < 0 || s > 5 { // the planner's lease is waited for: it is free for no time
							t.Errorf("unowned for %v s", s)
						}
					}
				}
				leaver := rest[0]
				rest = rest[1:]
				before = ended(rest)
				leaver.leave(t)
				pass(time.Minute)
				if now := ended(rest); now[0] != before[0] {
					t.Errorf("%v failovers after a graceful end", now[0]-before[0])
				}
				for _, m := range rest {
					m.leave(t)
				}
				cables[at].set(false)
				if err := <-fleet[at].done; err != nil {
					t.Logf("the instance that was cut off: %v", err)
				}
			})
		})
	}
}

// ended is how many terms began after the end of another, by cause.
func ended(ms []*member) [3]float64 {
	return [3]float64{sum(ms, "terms.started failover"), sum(ms, "terms.started handover"), sum(ms, "terms.started other")}
}

func plan(owners ...string) assigner.Plan {
	p := assigner.Plan{}
	counts := map[instance.ID]int{}
	for i, id := range owners {
		p.Targets = append(p.Targets, assigner.Target{Key: string(rune('a' + i)), Instance: instance.ID(id)})
		counts[instance.ID(id)]++
	}
	for _, id := range []instance.ID{"x", "y", "z"} {
		if n := counts[id]; n > 0 {
			p.Quotas = append(p.Quotas, assigner.Quota{Instance: id, Quota: n, Count: n})
		}
	}
	return p
}

func TestMovesAreCountedOnceAndAgainstTheMinimum(t *testing.T) {
	o, l := watched(t, metrics.Config{})
	see := func(p assigner.Plan) { o.ObservePlan(coordinator.PlanEvent{Instance: "x", Plan: p}) }
	see(plan("x", "x", "x", "x", "y", "y"))
	if moves, least := l.count("plan.moves level"), l.count("plan.moves_minimum"); moves != 0 || least != 0 {
		t.Errorf("the first plan: %v moves, %v at least", moves, least)
	}
	p := plan("x", "y", "z", "y", "x", "z") // an assigner that shuffles: 5 of 6, where 2 would do
	see(p)
	see(p)
	if moves, least := l.count("plan.moves level"), l.count("plan.moves_minimum"); moves != 5 || least != 2 {
		t.Errorf("%v moves, %v at least", moves, least)
	}
	see(plan("x", "y", "x", "y", "x", "y")) // z is gone
	if orphans, least := l.count("plan.moves orphan"), l.count("plan.moves_minimum"); orphans != 2 || least != 4 {
		t.Errorf("%v orphans, %v at least in all", orphans, least)
	}
	o.ObservePlan(coordinator.PlanEvent{Instance: "x", Err: lease.ErrUnavailable})
	if l.count("plans done") != 4 || l.count("plans failed") != 1 {
		t.Errorf("%v", l.counts)
	}
}

func TestTheFirstPlanKnowsFromWhereItMoves(t *testing.T) {
	o, l := watched(t, metrics.Config{})
	p := plan("x", "x", "y")
	p.Moves = []assigner.Move{{Key: "a", From: "y", To: "x", Reason: assigner.Level}, {Key: "b", To: "x", Reason: assigner.Orphan}}
	o.ObservePlan(coordinator.PlanEvent{Instance: "x", Plan: p})
	if l.count("plan.moves level") != 1 || l.count("plan.moves orphan") != 0 {
		t.Errorf("what nobody had does not move: %v", l.counts)
	}
	for key, cause := range map[string]string{"a": "handover", "b": "other"} {
		o.ObserveTerm(lease.TermEvent{Kind: lease.TermGranted, Lease: lease.Lease{Key: key, Token: 1}})
		if l.count("terms.started "+cause) != 1 {
			t.Errorf("%s: %v", key, l.counts)
		}
	}
}

func TestAFailoverCountsTheWaitForItsPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, l := watched(t, metrics.Config{})
		o.ObservePlan(coordinator.PlanEvent{Instance: "x", Plan: plan("x", "y", "y")})
		o.ObservePlan(coordinator.PlanEvent{Instance: "x", Plan: plan("x", "x", "x")}) // y is gone
		pass(2 * time.Second)
		o.ObserveAssignment(coordinator.Event{Kind: coordinator.EventAssigned, Key: "b", At: time.Now()})
		pass(time.Second)
		granted := lease.TermEvent{Kind: lease.TermGranted, At: time.Now(), Lease: lease.Lease{Key: "b", Token: 9}, Before: lease.Before{Free: time.Second}}
		active := runner.StateEvent{Key: "b", From: runner.Standby, To: runner.Active, Token: 9, At: time.Now().Add(time.Second / 2)}
		o.ObserveState(active) // the two come from different queues, in either order
		o.ObserveTerm(granted)
		got := []float64{l.only("failover.duration wait"), l.only("failover.duration acquire"), l.only("failover.duration start"), l.only("unowned.duration failover")}
		if fmt.Sprint(got) != "[2 1 0.5 3.5]" {
			t.Errorf("wait, acquire, start, unowned: %v", got)
		}
		o.ObserveTerm(lease.TermEvent{Kind: lease.TermReleased, Lease: granted.Lease})
		granted.Lease.Token = 10 // the work failed and starts again: nobody moved
		o.ObserveTerm(granted)
		if l.count("terms.started failover") != 1 || l.count("terms.started other") != 1 {
			t.Errorf("%v", l.counts)
		}
	})
}

func TestADrainIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		o, l := watched(t, metrics.Config{})
		r, end := lead(t, store, "job", 5*time.Second, o)
		d, err := drain.New(drain.Config{Observers: []any{o}}, r)
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		l.want(o, map[string]float64{"draining": 0, "drain.elapsed": 0, "drain.running": 0})
		done := make(chan error, 1)
		go func() { done <- d.Drain(t.Context()) }()
		pass(3 * time.Second)
		l.want(o, map[string]float64{"draining": 1, "drain.elapsed": 3, "drain.running": 1})
		if err := <-done; err != nil {
			t.Error(err)
		}
		pass(time.Minute)
		l.want(o, map[string]float64{"draining": 1, "drain.elapsed": 5, "drain.running": 0})
		end()
	})
}
