package history_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/verify/history"
)

func newMemory(t *testing.T) *memory.Store {
	t.Helper()
	s, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var quick = trial{clients: 4, calls: 40, ttl: 10 * time.Millisecond, hurry: 50 * time.Microsecond, forget: .03}

func TestMemoryIsLinearizable(t *testing.T) {
	linearizable(t, 30, quick, func(int) func(int) lease.Manager {
		s := newMemory(t)
		return func(int) lease.Manager { return s.Handle() }
	})
}

// wrong is a store that breaks one rule.
type wrong struct {
	lease.Manager
	mu      *sync.Mutex
	last    map[string]lease.Lease // of each key, as it was granted
	renew   func(lease.Renewal, error) (lease.Renewal, error)
	acquire func(*wrong, lease.Session, []string, lease.Grant) lease.Grant
	release func(*wrong, lease.Session, []lease.Lease) (lease.Session, []lease.Lease)
	verify  func(lease.Verification) lease.Verification
}

func (w *wrong) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	r, err := w.Manager.Renew(ctx, s)
	if w.renew != nil {
		r, err = w.renew(r, err)
	}
	return r, err
}

func (w *wrong) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g, err := w.Manager.Acquire(ctx, s, keys)
	if w.acquire != nil && err == nil {
		g = w.acquire(w, s, keys, g)
	}
	for _, l := range g.Leases {
		w.last[l.Key] = l
	}
	return g, err
}

func (w *wrong) Release(ctx context.Context, s lease.Session, leases []lease.Lease) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.release != nil {
		s, leases = w.release(w, s, leases)
	}
	return w.Manager.Release(ctx, s, leases)
}

func (w *wrong) Verify(ctx context.Context, s lease.Session, leases []lease.Lease) (lease.Verification, error) {
	v, err := w.Manager.Verify(ctx, s, leases)
	if w.verify != nil && err == nil {
		v = w.verify(v)
	}
	return v, err
}

// TestWrongStoresAreNotLinearizable shows that the check can fail.
func TestWrongStoresAreNotLinearizable(t *testing.T) {
	for name, w := range map[string]wrong{
		"lapsed sessions are renewed": {renew: func(r lease.Renewal, err error) (lease.Renewal, error) {
			if errors.Is(err, lease.ErrSessionLapsed) {
				err = nil
			}
			return r, err
		}},
		"what is held is granted": {acquire: func(_ *wrong, s lease.Session, _ []string, g lease.Grant) lease.Grant {
			for _, r := range g.Refused {
				g.Leases = append(g.Leases, lease.Lease{Key: r.Key, Owner: s.Owner, Session: s.ID, Token: uint64(time.Now().UnixMicro())})
			}
			g.Refused = nil
			return g
		}},
		"tokens repeat": {acquire: func(w *wrong, _ lease.Session, _ []string, g lease.Grant) lease.Grant {
			for i, l := range g.Leases {
				if last, ok := w.last[l.Key]; ok {
					g.Leases[i].Token = last.Token
				}
			}
			return g
		}},
		"a release frees another's lease": {release: func(w *wrong, s lease.Session, leases []lease.Lease) (lease.Session, []lease.Lease) {
			last := w.last[leases[0].Key]
			return lease.Session{ID: last.Session, Owner: last.Owner, TTL: s.TTL}, []lease.Lease{last}
		}},
		"grants are forgotten": {acquire: func(w *wrong, s lease.Session, _ []string, g lease.Grant) lease.Grant {
			_ = w.Manager.Release(context.Background(), s, g.Leases)
			return g
		}},
		"the free is refused": {acquire: func(_ *wrong, s lease.Session, _ []string, g lease.Grant) lease.Grant {
			for _, l := range g.Leases {
				g.Refused = append(g.Refused, lease.Refusal{Key: l.Key, Owner: "nobody", RetryAfter: s.TTL})
			}
			g.Leases = nil
			return g
		}},
		"the lost is verified": {verify: func(v lease.Verification) lease.Verification {
			v.Lost = nil
			return v
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for round := range 50 {
				store := newMemory(t)
				w := w
				w.Manager, w.mu, w.last = store, &sync.Mutex{}, map[string]lease.Lease{}
				r := quick.record(t, uint64(round), func(int) lease.Manager { return &w })
				v, err := r.Check(10 * time.Second)
				if err != nil {
					t.Fatal(err)
				}
				if !v.Linearizable && !v.Undecided {
					if path, err := v.Visualise(t.TempDir(), "wrong"); err != nil {
						t.Errorf("no page %s: %v", path, err)
					}
					return
				}
			}
			t.Error("50 histories of it were explained")
		})
	}
}

func TestHistoriesHaveABound(t *testing.T) {
	r, s := history.NewRecorder(), newMemory(t)
	c := r.Client(s)
	for range 25 {
		_, _ = c.OpenSession(t.Context(), lease.NewSession("a", time.Second))
	}
	if _, err := r.Check(0); err == nil {
		t.Error("25 sessions were accepted")
	}
}
