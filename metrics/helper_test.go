package metrics_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/metrics"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/tick"
)

// ledger is a sink that keeps everything, and refuses what the table does not have.
type ledger struct {
	t       *testing.T
	table   map[string]metrics.Metric
	mu      sync.Mutex
	counts  map[string]float64
	records map[string][]float64
}

func newLedger(t *testing.T) *ledger {
	l := &ledger{t: t, table: map[string]metrics.Metric{}, counts: map[string]float64{}, records: map[string][]float64{}}
	for _, m := range metrics.All() {
		l.table[m.Name] = m
	}
	return l
}

// id is a series in a readable form.
func (l *ledger) id(kind metrics.Kind, name string, labels []string) string {
	m := l.table[name]
	if m.Kind != kind || len(labels) != len(m.Labels) {
		l.t.Errorf("%s%v is not a %s of the table: %+v", name, labels, kind, m)
		return name
	}
	for i, v := range labels {
		if all := m.Labels[i].Values; all != nil && !slices.Contains(all, v) {
			l.t.Errorf("%s has no %s %q", name, m.Labels[i].Name, v)
		}
	}
	return strings.TrimSpace(strings.TrimPrefix(name, "tenure.") + " " + strings.Join(labels, " "))
}

func (l *ledger) Add(name string, n float64, labels ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[l.id(metrics.Counter, name, labels)] += n
}

func (l *ledger) Record(name string, v float64, labels ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.id(metrics.Histogram, name, labels)
	l.records[id] = append(l.records[id], v)
}

func (l *ledger) count(id string) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[id]
}

// only returns the one value of a histogram.
func (l *ledger) only(id string) float64 {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.records[id]) != 1 {
		l.t.Errorf("%s: %v", id, l.records[id])
		return -1
	}
	return l.records[id][0]
}

// gauges reads every gauge.
func (l *ledger) gauges(o *metrics.Observer) map[string]float64 {
	out := map[string]float64{}
	o.Gauges(func(name string, v float64, labels ...string) {
		id := l.id(metrics.Gauge, name, labels)
		if _, twice := out[id]; twice {
			l.t.Errorf("%s was read twice", id)
		}
		out[id] = v
	})
	return out
}

// want compares some gauges; a negative value means absent.
func (l *ledger) want(o *metrics.Observer, values map[string]float64) {
	l.t.Helper()
	got := l.gauges(o)
	for id, v := range values {
		if is, there := got[id]; there != (v >= 0) || there && is != v {
			l.t.Errorf("%s is %v (present: %v), want %v", id, is, there, v)
		}
	}
}

// watched is a fresh observer.
func watched(t *testing.T, cfg metrics.Config) (*metrics.Observer, *ledger) {
	t.Helper()
	l := newLedger(t)
	o, err := metrics.New(l, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return o, l
}

// cable is a store that can be cut off.
type cable struct {
	*memory.Store
	mu  sync.Mutex
	cut bool
}

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

func (c *cable) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return fmt.Errorf("cut off: %w", lease.ErrUnavailable)
	}
	return nil
}

// Tick makes the calls of a trip, so that each is cut off as well.
func (c *cable) Tick(ctx context.Context, p tick.Parts) tick.Answers { return tick.Each(ctx, c, p) }

func (c *cable) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	if err := c.broken(); err != nil {
		return lease.Renewal{}, err
	}
	return c.Store.Renew(ctx, s)
}

func (c *cable) OpenSession(ctx context.Context, s lease.Session) (lease.Incarnation, error) {
	if err := c.broken(); err != nil {
		return lease.Incarnation{}, err
	}
	return c.Store.OpenSession(ctx, s)
}

func (c *cable) Verify(ctx context.Context, s lease.Session, l []lease.Lease) (lease.Verification, error) {
	if err := c.broken(); err != nil {
		return lease.Verification{}, err
	}
	return c.Store.Verify(ctx, s, l)
}

func (c *cable) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	if err := c.broken(); err != nil {
		return lease.Grant{}, err
	}
	return c.Store.Acquire(ctx, s, keys)
}

func (c *cable) Release(ctx context.Context, s lease.Session, l []lease.Lease) error {
	if err := c.broken(); err != nil {
		return err
	}
	return c.Store.Release(ctx, s, l)
}

func (c *cable) CloseSession(ctx context.Context, s lease.Session) error {
	if err := c.broken(); err != nil {
		return err
	}
	return c.Store.CloseSession(ctx, s)
}

func (c *cable) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (registry.View, error) {
	if err := c.broken(); err != nil {
		return registry.View{}, err
	}
	return c.Store.Heartbeat(ctx, self, ttl, known)
}

func (c *cable) Leave(ctx context.Context, id instance.ID) error {
	if err := c.broken(); err != nil {
		return err
	}
	return c.Store.Leave(ctx, id)
}

func newStore(t *testing.T) *memory.Store {
	t.Helper()
	s, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lead starts a runner and returns it and the end of its Run.
func lead(t *testing.T, m lease.Manager, key string, linger time.Duration, observers ...any) (r *runner.Runner, end func()) {
	t.Helper()
	r, err := runner.New(m, instance.New(), runner.Spec{Key: key, Work: func(ctx context.Context, term *runner.Term) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-term.Draining():
			time.Sleep(linger)
			return nil
		}
	}}, runner.Config{Timing: lease.Timing{Jitter: -1}, Observers: observers})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func pass(d time.Duration) {
	time.Sleep(d) // virtual: only called inside a bubble
	synctest.Wait()
}
