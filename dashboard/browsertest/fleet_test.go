package browsertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/dashboard"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/status"
)

// live is a fleet of coordinators on a store in memory, in real time.
type live struct {
	t         *testing.T
	store     *memory.Store
	catalogue []coordinator.Workload[string]
	ttl       time.Duration

	mu   sync.Mutex
	pods map[string]*pod
	all  sync.WaitGroup
}

type pod struct {
	c      *coordinator.Coordinator[string]
	handle *memory.Store
	stop   context.CancelFunc
}

func newLive(t *testing.T, keys []string, ttl time.Duration) *live {
	t.Helper()
	store, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l := &live{t: t, store: store, ttl: ttl, pods: map[string]*pod{}}
	for _, key := range keys {
		l.catalogue = append(l.catalogue, coordinator.Workload[string]{Key: key, Value: key})
	}
	t.Cleanup(l.end)
	return l
}

func (l *live) timing() lease.Timing {
	timing, err := lease.Timing{LeaseTTL: l.ttl, DrainTimeout: 2 * time.Second, HardStop: time.Second}.Resolve()
	if err != nil {
		l.t.Fatal(err)
	}
	return timing
}

// work runs until its term ends. To wind down takes a moment, so that a drain can be seen.
func work(ctx context.Context, term *runner.Term, _ string) error {
	select {
	case <-term.Draining():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	t := time.NewTimer(40 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *live) join(name, zone string) {
	l.t.Helper()
	handle := l.store.Handle()
	c, err := coordinator.New(handle, l.catalogue, work, coordinator.Config{
		Instance: instance.Instance{
			ID: instance.ID("host-a:4711:" + name + "-00f3a9"), Zone: zone, Version: "v1.4.0", Address: "10.0.0.7:8080",
			Labels: map[string]string{"name": name},
		},
		Timing: l.timing(),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	l.mu.Lock()
	l.pods[name] = &pod{c, handle, stop}
	l.mu.Unlock()
	l.all.Go(func() {
		if err := c.Run(ctx); err != nil && !errors.Is(err, runner.ErrStuck) {
			l.t.Errorf("Run of %s: %v", name, err)
		}
	})
}

// kill cuts an instance off from the store, as a crash does: nothing of it is renewed any more.
func (l *live) kill(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.pods[name].handle.Close() // always nil
}

func (l *live) end() {
	l.mu.Lock()
	for _, p := range l.pods {
		p.stop()
	}
	l.mu.Unlock()
	l.all.Wait()
}

// planned is the catalogue as the page takes it.
func (l *live) planned() []dashboard.Workload {
	out := make([]dashboard.Workload, len(l.catalogue))
	for i, w := range l.catalogue {
		out[i].Key = w.Key
	}
	return out
}

// serve mounts a page of the store under a prefix and returns its URL.
func serve(t *testing.T, store coordinator.Store, cfg dashboard.Config) string {
	t.Helper()
	page, err := dashboard.New(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/fleet/", page)
	server := httptest.NewServer(mux)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = page.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		page.Close()
		server.Close()
	})
	return server.URL + "/ops/fleet/"
}

// big is a store with a fleet that was written into it: members and workloads without processes.
func big(t *testing.T, members, workloads int) *memory.Store {
	t.Helper()
	const ttl = time.Hour
	store, err := memory.New(memory.Config{MaxTTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for m := range members {
		id := instance.ID(fmt.Sprintf("host-%d:1:abcdef%02d", m, m))
		self := registry.Self{Instance: instance.Instance{ID: id, Zone: fmt.Sprintf("zone-%c", 'a'+m%3), Version: "v2"}}
		_, err := store.Heartbeat(ctx, self, ttl, 0)
		must(t, err)
		s := lease.NewSession(id, ttl)
		_, err = store.OpenSession(ctx, s)
		must(t, err)
		var keys []string
		for w := m; w < workloads; w += members {
			keys = append(keys, fmt.Sprintf("tenant/%05d", w))
		}
		grant, err := store.Acquire(ctx, s, keys)
		must(t, err)
		records := make([]status.Record, len(grant.Leases))
		for i, l := range grant.Leases {
			records[i] = status.Record{Key: l.Key, State: status.Active, Token: l.Token}
		}
		must(t, store.PutStatus(ctx, id, ttl, records))
	}
	return store
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
