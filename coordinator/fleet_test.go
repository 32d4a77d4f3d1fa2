package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// Everything here runs inside a bubble: time is virtual, and a leaked goroutine fails the test.

// witness is the outside world: every worker tells it what it does, and it counts what must not be.
type witness struct {
	t      *testing.T
	mu     sync.Mutex
	owner  map[string]string // key -> instance that is inside a term now
	token  map[string]uint64 // highest seen
	starts map[string]int
	ended  map[string]time.Time
	gap    []time.Duration // from the end of a worker to the next start elsewhere
}

func newWitness(t *testing.T) *witness {
	return &witness{t: t, owner: map[string]string{}, token: map[string]uint64{}, starts: map[string]int{}, ended: map[string]time.Time{}}
}

func (w *witness) enter(key, id string, token uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if other, busy := w.owner[key]; busy {
		w.t.Errorf("two owners of %s: %s and %s", key, other, id)
	}
	if token <= w.token[key] {
		w.t.Errorf("token of %s fell from %d to %d", key, w.token[key], token)
	}
	w.owner[key], w.token[key] = id, token
	w.starts[key]++
	if end, moved := w.ended[key]; moved {
		w.gap = append(w.gap, time.Since(end))
	}
}

func (w *witness) exit(key, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner[key] == id {
		delete(w.owner, key)
	}
	w.ended[key] = time.Now()
}

// started is how often a worker of the key has started.
func (w *witness) started(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.starts[key]
}

// gaps returns how long each handover since the last look took.
func (w *witness) gaps() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.gap
	w.gap = nil
	return g
}

// owners is who runs what, as key -> instance.
func (w *witness) owners() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.owner)
}

// loads is how many workloads each instance runs.
func (w *witness) loads() map[string]int {
	n := map[string]int{}
	for _, id := range w.owners() {
		n[id]++
	}
	return n
}

// fleet is a number of instances on one store.
type fleet struct {
	t       *testing.T
	store   *memory.Store
	witness *witness
	cfg     coordinator.Config
	keys    []string
	// linger is how long a worker takes to return once its drain has begun.
	linger time.Duration
	trips  bool // the store makes trips of several calls
	nodes  map[string]*node
	every  []*node                        // those that have left as well
	fixed  []coordinator.Workload[string] // the catalogue, where it is made once for all
}

// node is one instance.
type node struct {
	*coordinator.Coordinator[string]
	id    string
	fault *faulty
	stop  context.CancelFunc
	done  chan error
}

// awake is a machine that never sleeps. Asking the kernel 20 times a second whether it did is most of what
// a bubble costs; what becomes of a fleet whose machines sleep is for lease, runner and the simulation to show.
type awake struct{ clock.Clock }

func (awake) Slept() time.Duration     { return 0 }
func (awake) SleepPoll() time.Duration { return 0 }

func newFleet(t *testing.T, workloads int) *fleet {
	t.Helper()
	store, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, store: store, witness: newWitness(t), nodes: map[string]*node{}}
	for i := range workloads {
		f.keys = append(f.keys, fmt.Sprintf("job-%03d", i))
	}
	f.cfg.Clock = awake{clock.Or(nil)}
	f.cfg.Logger = slog.New(slog.DiscardHandler) // the lines are made, so that the race detector sees it
	if os.Getenv("TENURE_TEST_LOG") != "" {
		f.cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return f
}

// forgetful gives the fleet a provisioned store that begins a new incarnation when it loses data.
func (f *fleet) forgetful() *memory.Store {
	f.t.Helper()
	store, err := memory.New(memory.Config{Incarnations: true})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := store.Provision(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	f.store = store
	return store
}

func (f *fleet) catalogue() []coordinator.Workload[string] {
	if f.fixed != nil {
		return f.fixed
	}
	var out []coordinator.Workload[string]
	for _, k := range f.keys {
		out = append(out, coordinator.Workload[string]{Key: k, Value: "value of " + k})
	}
	return out
}

// work holds the key until it is drained or cancelled.
func (f *fleet) work(id string) coordinator.Work[string] {
	return func(ctx context.Context, term *runner.Term, value string) error {
		if !strings.HasSuffix(value, term.Key()) {
			f.t.Errorf("%s was handed %q", term.Key(), value)
		}
		f.witness.enter(term.Key(), id, term.Token())
		defer f.witness.exit(term.Key(), id)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-term.Draining():
		}
		if f.linger > 0 { // an expired timer may crash the race detector of Go 1.26 in a bubble
			select {
			case <-ctx.Done():
			case <-time.After(f.linger):
			}
		}
		return nil
	}
}

// add makes an instance that is not running yet.
func (f *fleet) add(id string, change ...func(*coordinator.Config)) *node {
	f.t.Helper()
	n := &node{id: id, fault: newFaulty(f.store.Handle())}
	cfg := f.cfg
	cfg.Instance = instance.Instance{ID: instance.ID(id)}
	for _, c := range change {
		c(&cfg)
	}
	var store coordinator.Store = n.fault
	if f.trips {
		store = tripping{n.fault}
	}
	c, err := coordinator.New(store, f.catalogue(), f.work(id), cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	n.Coordinator = c
	f.nodes[id] = n
	f.every = append(f.every, n)
	return n
}

func (n *node) start(ctx context.Context) *node {
	ctx, n.stop = context.WithCancel(ctx)
	n.done = make(chan error, 1)
	go func() { n.done <- n.Run(ctx) }()
	return n
}

// join makes and starts instances.
func (f *fleet) join(ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		f.add(id).start(context.Background())
	}
}

// leave stops an instance and waits for its Run.
func (f *fleet) leave(id string) error {
	n := f.nodes[id]
	delete(f.nodes, id)
	n.stop()
	return <-n.done
}

// leaveKeeping is leave for an instance whose calls hang until the fleet is closed.
func (f *fleet) leaveKeeping(id string) error {
	n := f.nodes[id]
	n.stop()
	err := <-n.done
	n.done <- nil
	return err
}

// crash cuts an instance off its store for good: from the outside, it has died.
func (f *fleet) crash(id string) { f.nodes[id].fault.cut() }

// close ends all instances; the bubble then finds what they left behind.
func (f *fleet) close() {
	f.t.Helper()
	for _, n := range f.nodes {
		n.stop()
	}
	for id, n := range f.nodes {
		if err := <-n.done; err != nil && !errors.Is(err, runner.ErrStuck) {
			f.t.Errorf("Run of %s: %v", id, err)
		}
	}
	for _, n := range f.every {
		n.fault.heal()
	}
	f.store.Close()
}

// bubble runs a test in virtual time, on a fleet that is closed at its end.
func bubble(t *testing.T, workloads int, test func(t *testing.T, f *fleet)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, workloads)
		test(t, f)
		f.close()
	})
}

// subBubble is bubble as a subtest, where a test has several.
func subBubble(t *testing.T, name string, workloads int, test func(t *testing.T, f *fleet)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, workloads, test) })
}

// after lets virtual time pass, and everything that was due then happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// balanced fails unless every workload runs, evenly on exactly these instances.
func (f *fleet) balanced(ids ...string) {
	f.t.Helper()
	loads, n := f.witness.loads(), len(f.keys)
	if got := len(f.witness.owners()); got != n {
		f.t.Errorf("%d of %d workloads run: %v", got, n, loads)
	}
	if got := slices.Sorted(maps.Keys(loads)); !slices.Equal(got, slices.Sorted(slices.Values(ids))) && n >= len(ids) {
		f.t.Errorf("instances with work are %v, want %v", got, ids)
	}
	for id, load := range loads {
		if load < n/len(ids) || load > (n+len(ids)-1)/len(ids) {
			f.t.Errorf("%s runs %d of %d workloads over %d instances", id, load, n, len(ids))
		}
	}
}

// within fails unless cond comes true in the given virtual time, and returns when it did.
func within(t *testing.T, most time.Duration, what string, cond func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for {
		synctest.Wait()
		if cond() {
			return time.Since(begin)
		}
		if time.Since(begin) >= most {
			t.Errorf("not within %v: %s", most, what)
			return time.Since(begin)
		}
		time.Sleep(most / 1000)
	}
}
