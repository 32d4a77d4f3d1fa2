package runner

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

// Timing of the tests: a TTL of 10 s, renewals each 2 s, a margin of 1 s, and no jitter, so that
// instants can be compared exactly.
var exact = lease.Timing{LeaseTTL: 10 * time.Second, DrainTimeout: 30 * time.Second, HardStop: 5 * time.Second, Jitter: -1}

// testStore is the memory store, with faults on demand.
type testStore struct {
	*memory.Store
	before func(ctx context.Context, op string) error // runs instead of the call where it fails
	after  func(op string) error                      // runs after the call and replaces its error

	mu    sync.Mutex
	calls map[string]int
	puts  [][]status.Record
	trace []string
}

func newStore(t *testing.T) *testStore {
	t.Helper()
	m, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &testStore{Store: m, calls: map[string]int{}}
}

// newGuardedStore returns a store that notices lost data, of a fleet that was provisioned.
func newGuardedStore(t *testing.T) *testStore {
	t.Helper()
	m, err := memory.New(memory.Config{Incarnations: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Provision(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &testStore{Store: m, calls: map[string]int{}}
}

// another returns a second process's handle on the same fleet, without the faults of the first.
func (s *testStore) another() *testStore {
	return &testStore{Store: s.Store, calls: map[string]int{}}
}

func (s *testStore) note(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, event)
}

func (s *testStore) noted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.trace)
}

func (s *testStore) count(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

func (s *testStore) do(ctx context.Context, op string, f func() error) error {
	s.mu.Lock()
	s.calls[op]++
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, op); err != nil {
			return err
		}
	}
	err := f()
	if after != nil {
		if e := after(op); e != nil {
			return e
		}
	}
	return err
}

// Tick counts a trip, and makes its parts out of the calls that are counted and may fail.
func (s *testStore) Tick(ctx context.Context, p tick.Parts) (a tick.Answers) {
	s.mu.Lock()
	s.calls["Tick"]++
	s.mu.Unlock()
	return tick.Each(ctx, s, p)
}

// fault replaces what happens before each call.
func (s *testStore) fault(f func(ctx context.Context, op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

func (s *testStore) OpenSession(ctx context.Context, x lease.Session) (in lease.Incarnation, err error) {
	err = s.do(ctx, "OpenSession", func() error { in, err = s.Store.OpenSession(ctx, x); return err })
	return in, err
}

func (s *testStore) Acquire(ctx context.Context, x lease.Session, keys []string) (g lease.Grant, err error) {
	err = s.do(ctx, "Acquire", func() error { g, err = s.Store.Acquire(ctx, x, keys); return err })
	return g, err
}

func (s *testStore) Renew(ctx context.Context, x lease.Session) (r lease.Renewal, err error) {
	err = s.do(ctx, "Renew", func() error { r, err = s.Store.Renew(ctx, x); return err })
	return r, err
}

func (s *testStore) Verify(ctx context.Context, x lease.Session, l []lease.Lease) (v lease.Verification, err error) {
	err = s.do(ctx, "Verify", func() error { v, err = s.Store.Verify(ctx, x, l); return err })
	return v, err
}

func (s *testStore) Release(ctx context.Context, x lease.Session, l []lease.Lease) error {
	return s.do(ctx, "Release", func() error { s.note("release"); return s.Store.Release(ctx, x, l) })
}

func (s *testStore) CloseSession(ctx context.Context, x lease.Session) error {
	return s.do(ctx, "CloseSession", func() error { s.note("close"); return s.Store.CloseSession(ctx, x) })
}

func (s *testStore) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	return s.do(ctx, "PutStatus", func() error {
		s.mu.Lock()
		s.puts = append(s.puts, slices.Clone(records))
		for _, r := range records {
			s.trace = append(s.trace, string(r.State))
		}
		s.mu.Unlock()
		return s.Store.PutStatus(ctx, owner, ttl, records)
	})
}

func (s *testStore) batches() [][]status.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.puts)
}

var errDown = errors.Join(errors.New("connection refused"), lease.ErrUnavailable)

func down(context.Context, string) error { return errDown }

// hang ignores its context for an hour, as a bad driver would.
func hang(context.Context, string) error {
	time.Sleep(time.Hour)
	return errDown
}

// started is a runner or set whose Run is on its way.
type started struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

func begin(t *testing.T, f func(context.Context) error) *started {
	ctx, cancel := context.WithCancel(context.Background())
	s := &started{t: t, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.err = f(ctx)
	}()
	synctest.Wait()
	return s
}

// stop ends Run and returns its error.
func (s *started) stop() error {
	s.cancel()
	return s.wait()
}

func (s *started) wait() error {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(time.Hour):
		s.t.Fatal("Run does not return")
	}
	return s.err
}

func mustRunner(t *testing.T, m lease.Manager, owner string, work Work, cfg Config) *Runner {
	t.Helper()
	if cfg.Timing == (lease.Timing{}) {
		cfg.Timing = exact
	}
	r, err := New(m, instance.ID(owner), Spec{Key: "job", Work: work}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustSet(t *testing.T, m lease.Manager, owner string, cfg Config) *Set {
	t.Helper()
	if cfg.Timing == (lease.Timing{}) {
		cfg.Timing = exact
	}
	s, err := NewSet(m, instance.ID(owner), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustStart(t *testing.T, s *Set, specs ...Spec) {
	t.Helper()
	for _, spec := range specs {
		if err := s.Start(spec); err != nil {
			t.Fatal(err)
		}
	}
}

// untilDrain is work that winds down when it is told to.
func untilDrain(ctx context.Context, term *Term) error {
	select {
	case <-term.Draining():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// untilCancelled is work that knows nothing of draining.
func untilCancelled(ctx context.Context, _ *Term) error {
	<-ctx.Done()
	return ctx.Err()
}

// log is a list that several goroutines append to.
type list[T any] struct {
	mu  sync.Mutex
	all []T
}

func (l *list[T]) add(x T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, x)
}

func (l *list[T]) get() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// recorder is an observer of everything.
type recorder struct {
	states list[StateEvent]
	works  list[WorkEvent]
	stucks list[StuckEvent]
	writes list[StatusEvent]
}

func (r *recorder) ObserveState(e StateEvent)   { r.states.add(e) }
func (r *recorder) ObserveWork(e WorkEvent)     { r.works.add(e) }
func (r *recorder) ObserveStuck(e StuckEvent)   { r.stucks.add(e) }
func (r *recorder) ObserveStatus(e StatusEvent) { r.writes.add(e) }

// path returns the states that the workload went through.
func (r *recorder) path() []State {
	var out []State
	for _, e := range r.states.get() {
		out = append(out, e.To)
	}
	return out
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// pass lets virtual time pass, and everything that is due then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
