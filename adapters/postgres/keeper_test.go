package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// witness sees every term of several keepers and tells when two overlap or a token falls.
type witness struct {
	t testing.TB

	mu    sync.Mutex
	terms map[string][]*lease.Hold // by key, those that may be valid
	best  map[string]uint64
	lost  int
	won   int
}

func newWitness(t testing.TB) *witness {
	return &witness{t: t, terms: map[string][]*lease.Hold{}, best: map[string]uint64{}}
}

func (w *witness) granted(h *lease.Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := h.Lease()
	w.won++
	if l.Token <= w.best[l.Key] {
		w.t.Errorf("the token of %q fell from %d to %d", l.Key, w.best[l.Key], l.Token)
	}
	w.best[l.Key] = l.Token
	w.terms[l.Key] = append(w.terms[l.Key], h)
	w.look(l.Key)
}

// look fails the test where two terms of the key are valid at once.
func (w *witness) look(key string) {
	var valid []*lease.Hold
	for _, h := range w.terms[key] {
		if h.Valid() {
			valid = append(valid, h)
		}
	}
	if len(valid) > 1 {
		w.t.Errorf("%q has %d owners at once: %+v and %+v", key, len(valid), valid[0].Lease(), valid[1].Lease())
	}
	w.terms[key] = valid
}

// watch looks all the time until the context ends.
func (w *witness) watch(ctx context.Context) {
	for pause(ctx, time.Millisecond) {
		w.mu.Lock()
		for key := range w.terms {
			w.look(key)
		}
		w.mu.Unlock()
	}
}

func (w *witness) numbers() (won, lost, held int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, hs := range w.terms {
		for _, h := range hs {
			if h.Valid() {
				held++
			}
		}
	}
	return w.won, w.lost, held
}

// worker is one claim of a keeper that works for ever.
type worker struct {
	w     *witness
	claim *lease.Claim
	ready chan struct{}
}

func (k *worker) Granted(h *lease.Hold)  { k.w.granted(h) }
func (k *worker) Refused(lease.Refusal)  {}
func (k *worker) Released(h *lease.Hold) { <-k.ready; k.claim.Contend() }
func (k *worker) Lost(h *lease.Hold, why *lease.LostError) {
	k.w.mu.Lock()
	k.w.lost++
	k.w.mu.Unlock()
	if why.Reason != lease.ReasonStopped {
		k.w.t.Logf("lost: %v", why)
	}
	h.Release()
}

// keep runs a keeper with a claim on each key until the test ends.
func (w *witness) keep(s lease.Manager, ttl time.Duration, keys ...string) (stop func()) {
	w.t.Helper()
	k, err := lease.NewKeeper(s, instance.New(), lease.KeeperConfig{Timing: lease.Timing{LeaseTTL: ttl}})
	must(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := k.Run(ctx); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}()
	for _, key := range keys {
		c := &worker{w: w, ready: make(chan struct{})}
		c.claim, err = k.Claim(key, c)
		must(w.t, err)
		close(c.ready)
	}
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	w.t.Cleanup(stop)
	return stop
}

// until waits for a state of the world.
func until(t testing.TB, d time.Duration, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", d, what)
		}
	}
}

func names(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d", i)
	}
	return keys
}

// persistent asks until the store answers.
func persistent(t testing.TB, d time.Duration, f func() error) {
	t.Helper()
	end := time.Now().Add(d)
	for {
		err := f()
		if err == nil {
			return
		}
		if !errors.Is(err, lease.ErrUnavailable) || time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
