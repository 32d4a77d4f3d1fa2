package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tenuretest"
)

func jobs(n int) []coordinator.Workload[int] {
	var out []coordinator.Workload[int]
	for i := range n {
		out = append(out, coordinator.Workload[int]{Key: fmt.Sprintf("job-%02d", i), Name: fmt.Sprintf("Job %d", i), Value: i})
	}
	return out
}

func planned(n int) func() []Workload {
	return func() []Workload {
		var out []Workload
		for _, j := range jobs(n) {
			w := Workload{Name: j.Name}
			w.Key = j.Key
			out = append(out, w)
		}
		return out
	}
}

// slow is work that takes a while to wind down.
func slow(ctx context.Context, term *runner.Term, _ int) error {
	select {
	case <-term.Draining():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-time.After(700 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// inFleet runs a test on a settled fleet of a, b and c with nine jobs, and a page that watches it.
func inFleet(t *testing.T, cfg Config, test func(t *testing.T, f *tenuretest.Fleet[int], p *Page)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := tenuretest.NewFleet(t, jobs(9), slow, tenuretest.FleetConfig{})
		f.Start("a", "b", "c")
		f.Settled()
		if cfg.Catalogue == nil {
			cfg.Catalogue = planned(9)
		}
		p := open9(t, f.Store(), cfg)
		watchIt(t, p)
		test(t, f, p)
	})
}

func open9(t testing.TB, store coordinator.Store, cfg Config) *Page {
	t.Helper()
	p, err := New(store, cfg)
	require.NoError(t, err)
	return p
}

// watchIt runs the page's Run until the test ends.
func watchIt(t *testing.T, p *Page) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = p.Run(ctx) })
	t.Cleanup(func() { stop(); all.Wait() })
	synctest.Wait()
}

// get asks the page for a path and returns the answer.
func get(p http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// twin asks for the JSON.
func twin(t *testing.T, p http.Handler, query string) View {
	t.Helper()
	w := get(p, "/fleet/"+query, "Accept", "application/json")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var v View
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&v))
	return v
}

// told lists the texts of the events of a kind, newest first.
func told(v View, kind EventKind) (texts []string) {
	for _, e := range v.Events {
		if e.Kind == kind {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// lasting is the life of what is written without a process that renews it.
const lasting = time.Hour

// written is a store into which a fleet was written, without processes.
func written(t testing.TB, members, workloads int) *memory.Store {
	t.Helper()
	const ttl = lasting
	store, err := memory.New(memory.Config{MaxTTL: ttl})
	require.NoError(t, err)
	for m := range members {
		id := instance.ID(fmt.Sprintf("host-%d:1:abcdef%02d", m, m))
		_, err := store.Heartbeat(t.Context(), registry.Self{Instance: instance.Instance{ID: id, Zone: "z"}}, ttl, 0)
		require.NoError(t, err)
		var keys []string
		for w := m; w < workloads; w += members {
			keys = append(keys, fmt.Sprintf("tenant/%05d", w))
		}
		hold(t, store, id, keys...)
	}
	return store
}

// hold gives an instance leases, and says that their work runs.
func hold(t testing.TB, store *memory.Store, id instance.ID, keys ...string) []lease.Lease {
	t.Helper()
	s := lease.NewSession(id, lasting)
	_, err := store.OpenSession(t.Context(), s)
	require.NoError(t, err)
	grant, err := store.Acquire(t.Context(), s, keys)
	require.NoError(t, err)
	require.Empty(t, grant.Refused)
	records := make([]status.Record, len(grant.Leases))
	for i, l := range grant.Leases {
		records[i] = status.Record{Key: l.Key, State: status.Active, Token: l.Token}
	}
	require.NoError(t, store.PutStatus(t.Context(), id, lasting, records))
	return grant.Leases
}

// broken is a store whose reads fail while down is set.
type broken struct {
	*memory.Store
	mu   sync.Mutex
	down error
	hang bool
}

func (b *broken) set(err error, hang bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down, b.hang = err, hang
}

func (b *broken) state() (hang bool, down error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hang, b.down
}

// Leases fails or hangs as the test says.
func (b *broken) Leases(ctx context.Context) ([]lease.Lease, error) {
	hang, err := b.state()
	if hang {
		select {} // a client that ignores its context
	}
	if err != nil {
		return nil, err
	}
	return b.Store.Leases(ctx)
}

func has(t *testing.T, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%q is missing in:\n%s", want, text)
	}
}
