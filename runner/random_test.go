package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/long"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// witness is told of every worker's begin and end, and knows the rules.
type witness struct {
	t     *testing.T
	mu    sync.Mutex
	owner map[string]string
	token map[string]uint64
	terms int
}

func (w *witness) enter(owner string, term *Term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := term.Key()
	if other := w.owner[key]; other != "" {
		w.t.Errorf("%s started %s while %s works on it", owner, key, other)
	}
	if term.Token() <= w.token[key] {
		w.t.Errorf("%s started %s with token %d after %d", owner, key, term.Token(), w.token[key])
	}
	w.owner[key], w.token[key] = owner, term.Token()
	w.terms++
}

func (w *witness) leave(term *Term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owner[term.Key()] = ""
}

// chaos is work that behaves in any way that it may, and ends when its context does.
func (w *witness) chaos(owner string, r *rand.Rand) Work {
	return func(ctx context.Context, term *Term) error {
		w.enter(owner, term)
		defer w.leave(term)
		w.mu.Lock()
		kind, long := r.IntN(6), time.Duration(r.IntN(20_000))*time.Millisecond
		w.mu.Unlock()
		after := time.After(long)
		draining := term.Draining()
		if kind == 0 {
			draining = nil // knows nothing of draining
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-draining:
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(long / 2):
				return nil
			}
		case <-after:
		}
		switch kind {
		case 1:
			return errWork
		case 2:
			panic("chaos")
		case 3:
			return nil
		}
		return untilDrain(ctx, term)
	}
}

// TestRandomFleets runs three sets over one store through faults, stops, step-downs and revocations.
func TestRandomFleets(t *testing.T) {
	for seed := range long.Or[uint64](25, 6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomFleet(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

type member struct {
	store *testStore
	set   *Set
	run   *started
	rec   *recorder
}

func randomFleet(t *testing.T, r *rand.Rand) {
	timing := lease.Timing{LeaseTTL: 10 * time.Second, DrainTimeout: 8 * time.Second, HardStop: 3 * time.Second}
	w := &witness{t: t, owner: map[string]string{}, token: map[string]uint64{}}
	first := newStore(t)
	var members []*member
	for i := range 3 {
		m := &member{store: first.another(), rec: &recorder{}}
		m.set = mustSet(t, m.store, fmt.Sprint("node", i), Config{
			Timing: timing, Status: m.store, Restart: Restart(r.IntN(2)), Observers: []any{m.rec},
			Backoff: Backoff{Min: time.Second, Max: 4 * time.Second},
			OnStuck: func(key string, _ *Term) { t.Errorf("%s is stuck", key) },
		})
		m.run = begin(t, m.set.Run)
		members = append(members, m)
	}
	key := func() string { return fmt.Sprint("job", r.IntN(6)) }
	for range 150 {
		m := members[r.IntN(len(members))]
		owner := string(m.set.owner)
		switch r.IntN(10) {
		case 0, 1, 2:
			err := m.set.Start(Spec{Key: key(), Work: w.chaos(owner, rand.New(rand.NewPCG(r.Uint64(), 1)))})
			if err != nil && !errors.Is(err, lease.ErrHeldHere) {
				t.Fatal(err)
			}
		case 3:
			m.set.Stop(key())
		case 4:
			m.set.StepDown(key())
		case 5:
			_ = first.Revoke(t.Context(), key())
		case 6:
			m.store.fault(randomFault(r))
		case 7, 8:
			m.store.fault(nil)
		case 9:
			if err := m.run.stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
			m.run = begin(t, m.set.Run)
		}
		pass(time.Duration(r.IntN(3000)) * time.Millisecond)
	}
	endRandomFleet(t, first, members, w)
}

// randomFault breaks one operation, or all of them, in one of the ways that stores break.
func randomFault(r *rand.Rand) func(context.Context, string) error {
	kinds := []func(context.Context, string) error{
		down,
		func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return errors.Join(lease.ErrUnavailable, ctx.Err())
		},
		func(context.Context, string) error { time.Sleep(5 * time.Second); return errDown },
		func(context.Context, string) error { time.Sleep(time.Second); return nil },
	}
	kind := kinds[r.IntN(len(kinds))]
	ops := []string{"", "Renew", "Acquire", "Release", "PutStatus", "OpenSession", "Verify"}
	if op := ops[r.IntN(len(ops))]; op != "" {
		return only(op, kind)
	}
	return kind
}

// endRandomFleet stops everything and looks at what is left.
func endRandomFleet(t *testing.T, store *testStore, members []*member, w *witness) {
	for _, m := range members {
		m.store.fault(nil)
	}
	pass(10 * time.Second)
	for _, m := range members {
		if err := m.run.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if keys := m.set.Keys(); len(keys) != 0 {
			t.Errorf("left in the set: %v", keys)
		}
		if m.set.open != 0 || m.set.working != 0 || m.set.unreleased != 0 || len(m.set.timers) != 0 || len(m.set.yielding) != 0 {
			t.Errorf("books: %d open, %d working, %d unreleased, %d timers, %d yielding",
				m.set.open, m.set.working, m.set.unreleased, len(m.set.timers), len(m.set.yielding))
		}
		last := map[string]State{}
		for _, e := range m.rec.states.get() {
			if e.From != last[e.Key] && !(e.From == "" && last[e.Key] == Stopped) {
				t.Errorf("from %s, not %s: %+v", e.From, last[e.Key], e)
			}
			last[e.Key] = e.To
		}
		for key, s := range last {
			if s != Stopped {
				t.Errorf("%s ends in %s", key, s)
			}
		}
	}
	pass(timeForAll)
	if held, _ := store.Leases(t.Context()); len(held) != 0 {
		t.Errorf("still held: %v", held)
	}
	for key, s := range states(t, store) {
		if s != status.Inactive {
			t.Errorf("%s is %s", key, s)
		}
	}
	if w.terms < 20 {
		t.Errorf("only %d terms", w.terms)
	}
}

// timeForAll is enough for every slow call to come back and every session to lapse.
const timeForAll = 30 * time.Second
