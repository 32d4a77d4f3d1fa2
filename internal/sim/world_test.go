package sim

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// ttl is the life of a session. Every other duration of a run follows from it.
const ttl = 10 * time.Second

// world is one run of a schedule.
type world struct {
	s      schedule
	timing lease.Timing
	server *server
	began  time.Time
	slots  []*process
	all    []*process
	born   int
	calmed atomic.Bool

	mu      sync.Mutex
	keys    map[string]bool // the catalogue
	open    map[string][]*shift
	starts  map[string]int
	best    map[string]uint64
	stepped map[*process]time.Time
	faults  []string
	rule    string // of the first fault
	notes   []string
	digest  digest
	stats   stats
}

// digest is a hash of what happened and when.
type digest struct{ sum uint64 }

func (d *digest) add(text string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	d.sum = mix(d.sum ^ h.Sum64())
}

// stats tell how much a run has put the engines through.
type stats struct {
	counts map[string]int
	settle time.Duration // from the end of all faults
}

// count counts something that happened.
func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.counts[what]++
}

// result is what came of a run.
type result struct {
	rule   string // the first promise that was broken; empty: none
	faults []string
	notes  []string
	digest uint64
	stats  stats
}

func (w *world) calm() bool { return w.calmed.Load() }

func (w *world) fail(rule, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failLocked(rule, format, args...)
}

func (w *world) failLocked(rule, format string, args ...any) {
	if slices.Contains(strings.Split(*spare, ","), rule) {
		return
	}
	if w.rule == "" {
		w.rule = rule
	}
	if len(w.faults) < 5 {
		text := fmt.Sprintf("%v %s: %s", time.Since(w.began), rule, fmt.Sprintf(format, args...))
		w.faults = append(w.faults, text)
		w.notes = append(w.notes, "!!! "+text)
	}
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(format, args...)
}

// noteLocked keeps what happened for people.
func (w *world) noteLocked(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf("%v %s", time.Since(w.began), fmt.Sprintf(format, args...)))
}

func (w *world) trace(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.traceLocked(format, args...)
}

// traceLocked adds to the digest.
func (w *world) traceLocked(format string, args ...any) {
	w.digest.add(fmt.Sprintf("%v ", time.Since(w.began)) + fmt.Sprintf(format, args...))
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rule != ""
}

// listed reports whether a key is to be run.
func (w *world) listed(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return key == leaderKey || w.keys[key]
}

func (w *world) steppedDown(p *process) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stepped[p]
}

func (w *world) workloads() []coordinator.Workload[string] {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []coordinator.Workload[string]
	for key := range w.keys {
		out = append(out, coordinator.Workload[string]{Key: key, Value: key})
	}
	slices.SortFunc(out, func(a, b coordinator.Workload[string]) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// setKeys makes the catalogue the keys of the bits of n.
func (w *world) setKeys(n int) {
	w.mu.Lock()
	clear(w.keys)
	for i := range 8 {
		if n>>i&1 == 1 {
			w.keys[keyName(i)] = true
		}
	}
	w.mu.Unlock()
}

func keyName(n int) string { return fmt.Sprint("work/", n) }

// timingOf is the timing of a schedule's fleet.
func timingOf(s schedule) (lease.Timing, error) {
	t := lease.Timing{LeaseTTL: ttl, DrainTimeout: 5 * time.Second, HardStop: 2 * time.Second}
	if s.Far {
		t.CallTimeout = 6 * time.Second // answers may come after most of the lease's life
	}
	return t.Resolve()
}

// standstill is how long one run may take in real time: a hundred times what it does on a busy machine.
const standstill = 2 * time.Minute

// play runs a schedule in a bubble.
func play(t *testing.T, s schedule) (r result) {
	t.Helper()
	var now atomic.Pointer[world]
	dog := time.AfterFunc(standstill, func() { // in real time: it is made outside the bubble
		w := now.Load()
		w.mu.Lock()
		panic(fmt.Sprintf("seed %d: virtual time does not pass: an engine spins.\n%s\n%v", s.Seed, strings.Join(w.faults, "\n"), s))
	})
	defer dog.Stop()
	defer func() { // goroutines that never end make the bubble panic
		if v := recover(); v != nil && r.rule == "" {
			r.rule, r.faults = "S7", []string{fmt.Sprint(v)}
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			s: s, began: time.Now(), slots: make([]*process, s.Slots), keys: map[string]bool{}, open: map[string][]*shift{},
			starts: map[string]int{}, best: map[string]uint64{}, stepped: map[*process]time.Time{},
			stats: stats{counts: map[string]int{}},
		}
		store, err := memory.New(memory.Config{MaxTTL: ttl, Incarnations: s.Guarded})
		if err == nil {
			err = store.Provision(t.Context())
		}
		if err == nil {
			w.timing, err = timingOf(s)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.server = newServer(w, store)
		now.Store(w)
		w.setKeys(1<<s.Keys - 1)
		w.run()
		r = result{w.rule, w.faults, w.notes, w.digest.sum, w.stats}
	})
	return r
}
