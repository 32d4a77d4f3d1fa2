package lease_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/long"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

var (
	modelRuns  = flag.Int("model.runs", long.Or(100, 25), "random runs of the incarnation model")
	modelSeed  = flag.Uint64("model.seed", 1, "seed of the first run")
	modelGuard = flag.Bool("model.guard", true, "false: the store does not freeze after losing data (the model must then find a violation)")
)

// unit is the model's tick. Delays are multiples of it; the longest outlives the call timeout, so
// that requests arrive after their sender has given up.
const (
	unit      = 10 * time.Millisecond
	modelTTL  = 40 * unit
	modelTime = 900 * unit
	modelKeys = 2
	modelMen  = 4
)

// world is one random run: real keepers on a real memory store that loses data, behind a network
// that delays and loses, watched by a checker.
type world struct {
	mu     sync.Mutex
	rnd    *rand.Rand
	store  *memory.Store
	snaps  []*memory.Snapshot
	trap   *memory.Snapshot // see network
	live   map[string][]*lease.Hold
	best   map[string]uint64
	grants int
	losses int
	wrong  []string
}

func (w *world) chance(p float64) bool { return w.float() < p }

func (w *world) float() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rnd.Float64()
}

func (w *world) between(a, b int) time.Duration {
	return time.Duration(a+int(w.float()*float64(b-a+1))) * unit
}

func (w *world) delay() time.Duration {
	return time.Duration([]int{1, 1, 2, 5, 30}[int(w.float()*5)]) * unit
}

// network delays and loses requests and answers; a lost one is never answered.
func (w *world) network(ctx context.Context, op string, do func() error) error {
	there, back := w.delay(), w.delay()
	time.Sleep(there)
	if w.chance(.04) {
		<-ctx.Done()
		return ctx.Err()
	}
	err := do()
	if op == "Acquire" && w.chance(.1) {
		// The nastiest moment: the grant is known to the server alone. Remember that state for
		// later, and lose it now.
		w.mu.Lock()
		w.trap = w.store.Snapshot()
		w.mu.Unlock()
		w.store.Restore(nil)
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(back)
	if w.chance(.04) {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// late lets a request arrive though its sender has given up.
type late struct{ lease.Manager }

func (l late) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	return l.Manager.Acquire(context.WithoutCancel(ctx), s, keys)
}

func (l late) OpenSession(ctx context.Context, s lease.Session) (lease.Incarnation, error) {
	return l.Manager.OpenSession(context.WithoutCancel(ctx), s)
}

func (l late) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	return l.Manager.Renew(context.WithoutCancel(ctx), s)
}

func (l late) Verify(ctx context.Context, s lease.Session, ls []lease.Lease) (lease.Verification, error) {
	return l.Manager.Verify(context.WithoutCancel(ctx), s, ls)
}

func (l late) Release(ctx context.Context, s lease.Session, ls []lease.Lease) error {
	return l.Manager.Release(context.WithoutCancel(ctx), s, ls)
}

func (l late) CloseSession(ctx context.Context, s lease.Session) error {
	return l.Manager.CloseSession(context.WithoutCancel(ctx), s)
}

// man claims one key of one keeper, for ever: held a while, let go, claimed again.
type man struct {
	w     *world
	key   string
	claim atomic.Pointer[lease.Claim]
}

func (m *man) Granted(h *lease.Hold) {
	m.w.granted(h)
	time.AfterFunc(m.w.between(5, 120), h.Release)
}
func (m *man) Refused(lease.Refusal) {}
func (m *man) Lost(h *lease.Hold, why *lease.LostError) {
	time.AfterFunc(m.w.between(0, 20), h.Release)
}
func (m *man) Released(*lease.Hold) {
	if c := m.claim.Load(); c != nil {
		c.ContendAfter(m.w.between(0, 10))
	}
}

// granted holds S1 and S2: nobody else is inside a term, and the token is above every earlier one.
func (w *world) granted(h *lease.Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.grants++
	l := h.Lease()
	w.live[l.Key] = slices.DeleteFunc(w.live[l.Key], func(h *lease.Hold) bool { return h.Err() != nil })
	if len(w.live[l.Key]) > 0 && w.rnd.Float64() < .5 {
		// Somebody has not noticed yet that its term is over, and the store that would say so forgets it.
		w.store.Restore(nil)
		w.losses++
	}
	w.live[l.Key] = append(w.live[l.Key], h)
	w.look(l.Key)
	if l.Token <= w.best[l.Key] {
		w.wrong = append(w.wrong, fmt.Sprintf("token of %s fell: %d after %d", l.Key, l.Token, w.best[l.Key]))
	}
	w.best[l.Key] = max(w.best[l.Key], l.Token)
}

// look finds two valid terms of one key. It looks without being noticed: a worker need not ask whether its term is
// valid between its end and an answer that comes too late. The mutex is held.
func (w *world) look(key string) {
	var inside []uint64
	for _, h := range w.live[key] {
		if lease.Peek(h) {
			inside = append(inside, h.Lease().Token)
		}
	}
	if len(inside) > 1 {
		w.wrong = append(w.wrong, fmt.Sprintf("two owners of %s: tokens %d", key, inside))
	}
}

// seeded is the machine's clock with jitter from the run's seed.
type seeded struct {
	clock.Clock
	w *world
}

func (s seeded) Float64() float64         { return s.w.float() }
func (s seeded) SleepPoll() time.Duration { return 0 }

// NewTimer returns a timer that now and then fires long after it should: the process was not
// scheduled, and answers wait for it that came after a deadline.
func (s seeded) NewTimer(d time.Duration) clock.Timer {
	return tardy{s.Clock.NewTimer(d), s.w}
}

type tardy struct {
	clock.Timer
	w *world
}

func (t tardy) Reset(d time.Duration) {
	if t.w.chance(.03) {
		d += t.w.between(10, 80)
	}
	t.Timer.Reset(d)
}

// runKeeper runs one process after another: each lives a while, stops, and another follows.
func (w *world) runKeeper(ctx context.Context, i int) error {
	for ctx.Err() == nil {
		ttl := modelTTL - time.Duration(i%2)*10*unit // different TTLs, all within MaxTTL
		wire := newWire(late{w.store})
		wire.set(w.network)
		k, err := lease.NewKeeper(wire, instance.ID(fmt.Sprint("man-", i, "-", time.Now().UnixNano())), lease.KeeperConfig{
			Timing: lease.Timing{LeaseTTL: ttl, RenewInterval: ttl / 5, Margin: 1, CallTimeout: ttl * 5 / 8, Jitter: 0.05},
			Clock:  seeded{clock.Or(nil), w},
		})
		if err != nil {
			return err
		}
		life, stop := context.WithTimeout(ctx, w.between(100, 900))
		for n := range modelKeys {
			m := &man{w: w, key: strconv.Itoa(n)}
			c, err := k.Claim(m.key, m)
			if err != nil {
				stop()
				return err
			}
			m.claim.Store(c)
		}
		err = k.Run(life)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// lose makes the server forget: its latest writes, or all of them.
func (w *world) lose(ctx context.Context) {
	pause := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-ctx.Done():
			return false
		}
	}
	for pause(w.between(30, 160)) {
		if w.chance(.7) {
			w.restore(w.float())
		} else {
			w.restore(-1)
		}
		if w.chance(.2) { // fail over and back with hardly a call in between
			pause(unit / 2)
			w.restore(1)
		}
	}
}

// restore restarts the server from one of its latest states: 0 is the oldest kept, 1 the newest; -1 is none of them.
func (w *world) restore(age float64) {
	w.mu.Lock()
	w.losses++
	old := (*memory.Snapshot)(nil)
	if age >= 0 && len(w.snaps) > 0 {
		old = w.snaps[min(int(age*float64(len(w.snaps))), len(w.snaps)-1)]
	}
	if w.trap != nil && age >= 0 && age < .5 {
		old, w.trap = w.trap, nil
	}
	w.mu.Unlock()
	w.store.Restore(old)
}

// keep remembers the server's state, and looks at all terms.
func (w *world) keep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.live {
		w.look(key)
	}
	if w.snaps = append(w.snaps, w.store.Snapshot()); len(w.snaps) > 24 {
		w.snaps = w.snaps[1:]
	}
}

func modelRun(t *testing.T, seed uint64, guard bool) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		s, err := memory.New(memory.Config{MaxTTL: modelTTL, Incarnations: guard})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Provision(t.Context()); err != nil {
			t.Fatal(err)
		}
		w = &world{rnd: rand.New(rand.NewPCG(seed, 0)), store: s, live: map[string][]*lease.Hold{}, best: map[string]uint64{}}
		ctx, cancel := context.WithTimeout(context.Background(), modelTime)
		defer cancel()
		var wg sync.WaitGroup
		for i := range modelMen {
			wg.Go(func() {
				if err := w.runKeeper(ctx, i); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() { w.lose(ctx) })
		for ctx.Err() == nil {
			time.Sleep(7 * unit)
			w.keep()
		}
		wg.Wait()
		time.Sleep(modelTime) // what is still under way comes back
	})
	return w
}

// TestIncarnationModel runs the session protocol against a store that loses its latest writes, or
// all of them, again and again: never two owners, and no token ever falls.
func TestIncarnationModel(t *testing.T) {
	runs := *modelRuns
	var next, grants, losses atomic.Int64
	var bad atomic.Int64
	t.Run("runs", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1) - 1; n < int64(runs) && bad.Load() == 0; n = next.Add(1) - 1 {
					seed := *modelSeed + uint64(n)
					w := modelRun(t, seed, *modelGuard)
					grants.Add(int64(w.grants))
					losses.Add(int64(w.losses))
					if len(w.wrong) > 0 {
						bad.Add(1)
						t.Errorf("seed %d (rerun with -model.seed %d -model.runs 1): %s", seed, seed, strings.Join(w.wrong, "; "))
					}
				}
			})
		}
	})
	t.Logf("%d runs, %d grants, %d losses of data, %d runs with a violation", runs, grants.Load(), losses.Load(), bad.Load())
	if grants.Load() < int64(runs) {
		t.Error("hardly anything was granted: the model proves nothing")
	}
}

// TestIncarnationModelFindsAnUnguardedStore shows that the model can fail.
func TestIncarnationModelFindsAnUnguardedStore(t *testing.T) {
	for seed := uint64(1); seed <= 3000; seed++ {
		if w := modelRun(t, seed, false); len(w.wrong) > 0 {
			t.Logf("found in run %d: %s", seed, w.wrong[0])
			return
		}
	}
	t.Error("3000 runs without the freeze found no violation")
}
