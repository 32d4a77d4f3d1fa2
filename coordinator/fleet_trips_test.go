package coordinator_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

// tripping is a faulty store that makes trips. A trip counts as "Tick", and each part as "aboard" and its name: it
// fails, or holds up the trip, where the call of that name would.
type tripping struct{ *faulty }

func (f tripping) Tick(ctx context.Context, p tick.Parts) tick.Answers {
	if err := f.before(ctx, "Tick", 0); err != nil {
		return p.Fail(err)
	}
	return tick.Each(ctx, aboard(f), p)
}

// aboard has the parts of a trip.
type aboard struct{ *faulty }

func part[T any](ctx context.Context, f *faulty, op string, call func() (T, error)) (v T, err error) {
	f.set(func() { f.calls["aboard "+op]++ })
	f.mu.Lock()
	fail, stall, open := f.fail, f.stall, f.open
	f.mu.Unlock()
	if stall != nil && stall(op) {
		<-open
	}
	if fail != nil && fail(op) != nil {
		return v, fail(op)
	}
	return call()
}

func (a aboard) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	return part(ctx, a.faulty, "Renew", func() (lease.Renewal, error) { return a.store.Renew(ctx, s) })
}

func (a aboard) Verify(ctx context.Context, s lease.Session, l []lease.Lease) (lease.Verification, error) {
	return part(ctx, a.faulty, "Verify", func() (lease.Verification, error) { return a.store.Verify(ctx, s, l) })
}

func (a aboard) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (registry.View, error) {
	return part(ctx, a.faulty, "Heartbeat", func() (registry.View, error) { return a.store.Heartbeat(ctx, self, ttl, known) })
}

func (a aboard) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, r []status.Record) error {
	_, err := part(ctx, a.faulty, "PutStatus", func() (int, error) { return 0, a.store.PutStatus(ctx, owner, ttl, r) })
	return err
}

// together are the calls that travel in a trip.
var together = []string{"Renew", "Verify", "Heartbeat", "PutStatus"}

// alone is how often an operation is called besides: the planner checks its lease before it writes.
func alone(calls map[string]int, op string) int {
	if op == "Verify" {
		return calls["PutTargets"]
	}
	return 0
}

// An instance makes one trip per interval, and no other call of the four.
func TestOneTripPerInterval(t *testing.T) {
	for name, jitter := range map[string]float64{"no jitter": -1, "the default": 0, "the most": .5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 20)
				f.trips = true
				f.cfg.Timing = lease.Timing{Jitter: jitter}
				f.join("a", "b")
				after(2 * time.Minute)
				f.balanced("a", "b")
				for _, n := range f.nodes {
					n.fault.counts()
				}
				const intervals = 60
				after(intervals * 2 * time.Second)
				for id, n := range f.nodes {
					c := n.fault.counts()
					for _, op := range together {
						if c[op] != alone(c, op) || c["aboard "+op] != c["Tick"] {
							t.Errorf("%s made %d trips, %d of them with %s, which it called %d times besides", id, c["Tick"], c["aboard "+op], op, c[op])
						}
					}
					if off := c["Tick"] - intervals; jitter < 0 && off != 0 || max(off, -off) > intervals/5 {
						t.Errorf("%s made %d trips in %d intervals", id, c["Tick"], intervals)
					}
				}
				f.close()
			})
		})
	}
}

// beats notes when an instance beats.
type beats struct {
	mu  sync.Mutex
	all []time.Time
}

func (b *beats) note(op string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if op == "Heartbeat" {
		b.all = append(b.all, time.Now())
	}
	return nil
}

// Where a heartbeat is due at other times than a renewal, it travels with the last one before, and is never late.
func TestHeartbeatsOfAnotherIntervalAreNeverLate(t *testing.T) {
	// The least of the last: 120 s, one each 11 s at the latest.
	for every, aboardAtLeast := range map[time.Duration]int{700 * time.Millisecond: 30, 3 * time.Second: 50, 10 * time.Second: 10} {
		t.Run(every.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 3)
				f.trips = true
				f.cfg.Timing = lease.Timing{HeartbeatTTL: 5 * every, HeartbeatInterval: every}
				f.join("a")
				after(time.Minute)
				n, b := f.nodes["a"], &beats{}
				n.fault.counts()
				n.fault.set(func() { n.fault.fail = b.note })
				after(2 * time.Minute)
				c := n.fault.counts()
				n.fault.set(func() { n.fault.fail = nil })
				b.mu.Lock()
				defer b.mu.Unlock()
				for i := range b.all[1:] {
					if gap := b.all[i+1].Sub(b.all[i]); gap > every+every/10+time.Millisecond {
						t.Errorf("%v between two heartbeats, which are due every %v", gap, every)
					}
				}
				if c["aboard Heartbeat"] < aboardAtLeast || c["aboard Renew"] != c["Tick"] || c["Renew"] != 0 {
					t.Errorf("calls: %v", c)
				}
				if every > 2*time.Second && c["Heartbeat"] != 0 {
					t.Errorf("%d heartbeats went alone beside %d trips", c["Heartbeat"], c["Tick"])
				}
				f.close()
			})
		})
	}
}

// A part that hangs takes its trip along, and no more than that: what is tried again goes alone, so no term is lost.
func TestAPartThatHangsCostsNoTerm(t *testing.T) {
	for _, op := range []string{"Heartbeat", "PutStatus", "Verify"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 6)
				f.trips = true
				f.join("a")
				after(time.Minute)
				f.balanced("a")
				n, starts := f.nodes["a"], f.starts()
				n.fault.set(func() { n.fault.stall = func(o string) bool { return o == op } })
				after(5 * time.Minute)
				c := n.fault.counts()
				if f.starts() != starts || len(n.Held()) == 0 {
					t.Errorf("terms ended while every %s hung: %v", op, c)
				}
				if c["Renew"] == 0 || c["Tick"] < 100 {
					t.Errorf("calls: %v", c)
				}
				n.fault.heal()
				after(time.Minute)
				n.fault.counts()
				after(20 * time.Second)
				if c := n.fault.counts(); slices.ContainsFunc(together, func(o string) bool { return c[o] != alone(c, o) || c["aboard "+o] != c["Tick"] }) {
					t.Errorf("healed, and not together again: %v", c)
				}
				f.close()
			})
		})
	}
}

// slowTrips has a trip take a second, and nothing else.
func slowTrips(op string) time.Duration {
	if op == "Tick" {
		return time.Second
	}
	return 0
}

// A store that is asked in trips gets every instance out of the fleet as one that is asked in calls.
func TestWhoLeavesIsGoneWithTrips(t *testing.T) {
	for delay := range 12 {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 6)
			f.trips = true
			f.cfg.Timing = lease.Timing{Jitter: -1}
			f.join("a", "b")
			after(time.Minute)
			f.nodes["a"].fault.set(func() { f.nodes["a"].fault.delay = slowTrips })
			after(10*time.Second + time.Duration(delay)*200*time.Millisecond) // a trip may be under way
			if err := f.leave("a"); err != nil {
				t.Error(err)
			}
			after(2 * time.Second) // a trip that it did not wait for would have arrived
			if v, err := f.store.Members(t.Context()); err != nil || len(v.Members) != 1 {
				t.Errorf("members %+v, %v", v.Members, err)
			}
			f.close()
		})
	}
}
