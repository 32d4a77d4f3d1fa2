package metrics_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/metrics"
	"github.com/tenure-go/tenure/runner"
)

// Failure 81.
func TestALeaderThatIsDeposedLeavesNoSeriesBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		a, la := watched(t, metrics.Config{})
		b, lb := watched(t, metrics.Config{})
		first, endFirst := lead(t, store, "job", 3*time.Second, a)
		pass(time.Second)
		_, endSecond := lead(t, store, "job", 0, b)
		pass(time.Second)
		la.want(a, map[string]float64{"is_leader job": 1, "held": 1, "workloads active": 1, "workloads standby": 0, "session.left": 9})
		lb.want(b, map[string]float64{"is_leader job": 0, "held": 0, "term.token job": -1, "term.start_time job": -1, "session.left": -1, "workloads standby": 1})
		token := la.gauges(a)["term.token job"]
		go func() { _ = first.StepDown(t.Context()) }()
		pass(2 * time.Second)
		la.want(a, map[string]float64{"is_leader job": 1, "workloads draining": 1}) // winding down, and holding
		pass(2 * time.Second)
		la.want(a, map[string]float64{"is_leader job": 0, "held": 0, "term.token job": -1, "term.start_time job": -1, "workloads standby": 1, "workloads draining": 0})
		lb.want(b, map[string]float64{"is_leader job": 1, "held": 1})
		if now := lb.gauges(b)["term.token job"]; now <= token {
			t.Errorf("token %v after %v", now, token)
		}
		endFirst()
		endSecond()
		synctest.Wait()
		for l, o := range map[*ledger]*metrics.Observer{la: a, lb: b} {
			l.want(o, map[string]float64{"is_leader job": -1, "term.token job": -1, "term.start_time job": -1, "held": 0, "workloads standby": 0, "keys.unlisted": 0})
		}
		// What the two measured of the handover.
		if d, r := la.only("handover.duration drain"), la.only("handover.duration release"); d != 3 || r != 0 {
			t.Errorf("drain %v s, release %v s", d, r)
		}
		if got := lb.only("handover.duration acquire") + lb.only("handover.duration start") + lb.only("unowned.duration handover"); got != 0 {
			t.Errorf("%v s in a store that takes no time and hints", got)
		}
		for id, n := range map[string]float64{"terms.started other": 1, "terms.ended released": 1, "work.ended stepped_down": 1} {
			if la.count(id) != n {
				t.Errorf("first: %s is %v", id, la.count(id))
			}
		}
		if lb.count("terms.started handover") != 1 || lb.count("work.ended stopped") != 1 {
			t.Errorf("second: %v", lb.counts)
		}
	})
}

func TestALeaderThatIsCutOffReadsAsNoneFromItsDeadlineOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		a, la := watched(t, metrics.Config{})
		b, lb := watched(t, metrics.Config{})
		link := &cable{Store: store}
		_, endFirst := lead(t, link, "job", 0, a)
		pass(time.Second)
		_, endSecond := lead(t, store, "job", 0, b)
		pass(time.Second + 500*time.Millisecond) // renewed at 2 s
		link.set(true)
		pass(8 * time.Second)
		la.want(a, map[string]float64{"is_leader job": 1, "session.left": 0.5})
		pass(time.Second)
		la.want(a, map[string]float64{"is_leader job": 0, "held": 0, "term.token job": -1})
		pass(time.Second)
		lb.want(b, map[string]float64{"is_leader job": 1})
		if la.count("terms.ended unreachable") != 1 || la.count("store.calls Renew unknown") == 0 || la.count("work.ended lost") != 1 {
			t.Errorf("%v", la.counts)
		}
		if lb.count("terms.started failover") != 1 {
			t.Errorf("%v", lb.counts)
		}
		if free := lb.only("unowned.duration failover"); free < 0 || free > 0.1 || lb.only("failover.duration acquire") > free {
			t.Errorf("unowned for %v s after the lapse", free)
		}
		link.set(false)
		endFirst()
		endSecond()
		synctest.Wait()
		la.want(a, map[string]float64{"is_leader job": -1})
	})
}

// The series of a key come and go with it; a deadline counts although nobody says that it has passed.
// Failure 81.
func TestADeadlinePassesWithoutAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, l := watched(t, metrics.Config{})
		now := time.Now()
		o.ObserveRenew(lease.RenewEvent{Session: "s", Opening: true, At: now, Of: 9 * time.Second, Until: now.Add(9 * time.Second), Incarnation: 7})
		o.ObserveTerm(lease.TermEvent{Kind: lease.TermGranted, At: now, Lease: lease.Lease{Key: "k", Session: "s", Token: 5}})
		l.want(o, map[string]float64{"is_leader k": 1, "term.token k": 5, "held": 1, "store.incarnation": 7})
		pass(9 * time.Second)
		l.want(o, map[string]float64{"is_leader k": 0, "term.token k": -1, "held": 0, "session.left": 0})
		o.ObserveRenew(lease.RenewEvent{Session: "s", At: time.Now(), Err: lease.ErrUnavailable, Took: time.Second})
		o.ObserveTerm(lease.TermEvent{Kind: lease.TermLost, Lease: lease.Lease{Key: "k", Session: "s", Token: 5}, Reason: "a store's own"})
		o.ObserveTerm(lease.TermEvent{Kind: lease.TermReleased, Lease: lease.Lease{Key: "k", Session: "s", Token: 5}})
		l.want(o, map[string]float64{"is_leader k": -1, "session.left": -1})
		if l.count("terms.ended other") != 1 || l.count("terms.ended released") != 0 {
			t.Errorf("a term ends once: %v", l.counts)
		}
	})
}

func TestMarginsAreAPartOfWhatThereIs(t *testing.T) {
	o, l := watched(t, metrics.Config{})
	for _, e := range []lease.RenewEvent{
		{Opening: true, Of: 9 * time.Second},                                                   // had nothing to lose
		{Left: 0, Of: 9 * time.Second, Err: lease.ErrUnavailable},                              // is counted as a call
		{Left: 7200 * time.Millisecond, Of: 9 * time.Second, Until: time.Now().Add(time.Hour)}, // counts
	} {
		o.ObserveRenew(e)
	}
	if got := l.only("renew.margin_left_ratio"); got != 0.8 {
		t.Errorf("%v", got)
	}
}

func TestKeysBeyondTheLimitHaveNoSeries(t *testing.T) {
	for most, listed := range map[int]int{0: 5, 2: 2, -1: 0} {
		o, l := watched(t, metrics.Config{MostKeys: most})
		for _, key := range []string{"e", "a", "d", "b", "c"} {
			o.ObserveState(runner.StateEvent{Key: key, To: runner.Standby})
		}
		want := map[string]float64{"keys.unlisted": float64(5 - listed), "workloads standby": 5}
		for i, key := range []string{"a", "b", "c", "d", "e"} {
			want["is_leader "+key] = -1
			if i < listed {
				want["is_leader "+key] = 0
			}
		}
		l.want(o, want)
	}
}

func TestStuckWorkers(t *testing.T) {
	o, l := watched(t, metrics.Config{})
	o.ObserveStuck(runner.StuckEvent{Key: "a"})
	o.ObserveStuck(runner.StuckEvent{Key: "b"})
	l.want(o, map[string]float64{"stuck.workloads": 2})
	o.ObserveStuck(runner.StuckEvent{Key: "a", Returned: true})
	o.ObserveState(runner.StateEvent{Key: "b", From: runner.Draining, To: runner.Stopped})
	l.want(o, map[string]float64{"stuck.workloads": 0})
}

func TestOutcomes(t *testing.T) {
	for err, want := range map[error]string{
		nil: "done", lease.ErrReadOnlyStore: "refused", lease.ErrSessionLapsed: "refused", lease.ErrInvalid: "refused",
		lease.ErrClosed: "refused", lease.ErrUnavailable: "unknown", errors.New("a store's own"): "unknown",
	} {
		if got := metrics.Outcome(err); got != want {
			t.Errorf("%v is %s", err, got)
		}
	}
}

func TestASinkIsNeeded(t *testing.T) {
	if _, err := metrics.New(nil, metrics.Config{}); !errors.Is(err, lease.ErrInvalid) {
		t.Error(err)
	}
}
