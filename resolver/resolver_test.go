package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/resolver"
	"github.com/tenure-go/tenure/status"
)

// store is the memory store, which counts reads and fails or hangs on demand.
type store struct {
	*memory.Store
	mu     sync.Mutex
	reads  int
	asked  []string
	before func() error
}

func newStore(t *testing.T) *store {
	t.Helper()
	m, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &store{Store: m}
}

func (s *store) Statuses(ctx context.Context, keys []string) ([]status.Record, error) {
	s.mu.Lock()
	s.reads++
	s.asked = keys
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return nil, err
		}
	}
	return s.Store.Statuses(ctx, keys)
}

func (s *store) fail(before func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// join makes an instance a member for an hour, at an address unless that is empty.
func (s *store) join(t *testing.T, id instance.ID, address string) {
	t.Helper()
	self := registry.Self{Instance: instance.Instance{ID: id, Address: address, Labels: map[string]string{"a": "b"}}}
	if _, err := s.Heartbeat(t.Context(), self, time.Hour, 0); err != nil {
		t.Fatal(err)
	}
}

// own publishes that the instance has the key.
func (s *store) own(t *testing.T, id instance.ID, key string, token uint64, state status.State) {
	t.Helper()
	r := status.Record{Key: key, State: state, Token: token}
	if err := s.PutStatus(t.Context(), id, time.Hour, []status.Record{r}); err != nil {
		t.Fatal(err)
	}
}

func newResolver(t *testing.T, s resolver.Store, cfg resolver.Config) *resolver.Resolver {
	t.Helper()
	r, err := resolver.New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// expect resolves and compares "address" or the error.
func expect(t *testing.T, r *resolver.Resolver, key string, want any) resolver.Owner {
	t.Helper()
	o, err := r.Resolve(t.Context(), key)
	switch want := want.(type) {
	case error:
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", key, err, want)
		}
	case string:
		if err != nil || o.Instance.Address != want {
			t.Errorf("%q: at %q, %v; want %q", key, o.Instance.Address, err, want)
		}
	}
	return o
}

func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "10.0.0.1:80")
		s.join(t, "silent", "")
		s.own(t, "one", "runs", 7, status.Active)
		s.own(t, "one", "winds down", 8, status.Transferring)
		s.own(t, "one", "stopped", 9, status.Inactive)
		s.own(t, "silent", "hidden", 10, status.Active)
		s.own(t, "gone", "orphan", 11, status.Active)
		r := newResolver(t, s, resolver.Config{Known: func(key string) bool { return key != "stranger" }})

		o := expect(t, r, "runs", "10.0.0.1:80")
		if o.Key != "runs" || o.Token != 7 || o.State != status.Active || o.Instance.ID != "one" || o.Draining || o.Age != 0 {
			t.Errorf("%+v", o)
		}
		o.Instance.Labels["a"] = "changed"
		if again := expect(t, r, "runs", "10.0.0.1:80"); again.Instance.Labels["a"] != "b" {
			t.Error("an answer shares memory with the resolver")
		}
		if o := expect(t, r, "winds down", "10.0.0.1:80"); o.State != status.Transferring {
			t.Errorf("%+v", o)
		}
		expect(t, r, "stopped", resolver.ErrNoOwner)
		expect(t, r, "never seen", resolver.ErrNoOwner)
		if o := expect(t, r, "hidden", resolver.ErrNoAddress); o.Instance.ID != "silent" || o.Token != 10 {
			t.Errorf("%+v", o)
		}
		if o := expect(t, r, "orphan", resolver.ErrNoAddress); o.Instance.ID != "gone" {
			t.Errorf("%+v", o)
		}
		before := s.count()
		expect(t, r, "stranger", resolver.ErrUnknown)
		expect(t, r, "", resolver.ErrInvalid)
		expect(t, r, strings.Repeat("x", 513), resolver.ErrInvalid)
		if s.count() != before {
			t.Error("the store was asked for a key that cannot be one")
		}
		if err := s.BeginDrain(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if o := expect(t, r, "runs", "10.0.0.1:80"); !o.Draining {
			t.Errorf("%+v", o)
		}
	})
}

func TestOneReadServesEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "a")
		const keys = 50
		for i := range keys {
			s.own(t, "one", fmt.Sprint(i), uint64(i+1), status.Active)
		}
		r := newResolver(t, s, resolver.Config{})
		all := func() {
			var wg sync.WaitGroup
			for i := range keys * 4 {
				wg.Go(func() { expect(t, r, fmt.Sprint(i%keys), "a") })
			}
			wg.Wait()
		}
		s.fail(func() error { time.Sleep(10 * time.Millisecond); return nil })
		all()
		if n := s.count(); n > keys {
			t.Errorf("%d reads for %d keys", n, keys)
		}
		before := s.count()
		all()
		if n := s.count() - before; n != 0 {
			t.Errorf("%d reads although everything is fresh", n)
		}
		time.Sleep(1100 * time.Millisecond)
		before = s.count()
		all()
		if n := s.count() - before; n != 1 {
			t.Errorf("%d reads for %d hot keys that became old, want 1", n, keys)
		}
		// What nobody wants any more is asked no more.
		time.Sleep(30 * time.Second)
		expect(t, r, "0", "a")
		time.Sleep(2 * time.Second)
		expect(t, r, "0", "a")
		if len(s.asked) != 1 {
			t.Errorf("asked for %d keys, 1 is wanted", len(s.asked))
		}
	})
}

func TestAnswersAgeNoFurtherThanMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "a")
		s.join(t, "two", "b")
		s.own(t, "one", "k", 1, status.Active)
		r := newResolver(t, s, resolver.Config{MaxAge: 3 * time.Second})
		expect(t, r, "k", "a")
		s.own(t, "two", "k", 2, status.Active)
		time.Sleep(3 * time.Second)
		if o := expect(t, r, "k", "a"); o.Age != 3*time.Second {
			t.Errorf("age %v", o.Age)
		}
		time.Sleep(time.Nanosecond)
		expect(t, r, "k", "b")
		// "No owner" is believed for Retry alone, since no hint tells of a grant.
		expect(t, r, "new", resolver.ErrNoOwner)
		s.own(t, "one", "new", 1, status.Active)
		time.Sleep(100 * time.Millisecond)
		expect(t, r, "new", resolver.ErrNoOwner)
		time.Sleep(time.Nanosecond)
		expect(t, r, "new", "a")
	})
}

func TestHintsBringChangesForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "a")
		r := newResolver(t, s, resolver.Config{MaxAge: time.Hour, MaxStale: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		s.own(t, "one", "k", 1, status.Active)
		expect(t, r, "k", "a")
		s.own(t, "two", "k", 2, status.Active)
		expect(t, r, "k", "a") // nothing hints at that
		s.join(t, "two", "b")  // this is hinted
		synctest.Wait()
		expect(t, r, "k", "b")
		s.own(t, "one", "k", 3, status.Active)
		r.Hint(lease.Change{Kind: lease.ChangeReleased, Key: "other"})
		r.Hint(lease.Change{Kind: lease.ChangePlanned})
		expect(t, r, "k", "b")
		r.Hint(lease.Change{Kind: lease.ChangeReleased, Key: "k"})
		expect(t, r, "k", "a")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A hint that comes while a read is under way may be about something that the read has missed.
func TestHintDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "a")
		s.join(t, "two", "b")
		s.own(t, "one", "k", 1, status.Active)
		r := newResolver(t, &slowMembers{store: s}, resolver.Config{MaxAge: time.Hour, MaxStale: time.Hour})
		var wg sync.WaitGroup
		wg.Go(func() { expect(t, r, "k", "a") })
		time.Sleep(time.Millisecond)
		s.own(t, "two", "k", 2, status.Active)
		r.Hint(lease.Change{Kind: lease.ChangeReleased, Key: "k"})
		wg.Wait()
		expect(t, r, "k", "b")
	})
}

// slowMembers answers the membership a second late, after the owners were read.
type slowMembers struct{ *store }

func (s *slowMembers) Members(ctx context.Context) (registry.View, error) {
	time.Sleep(time.Second)
	return s.store.Members(ctx)
}

func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "a")
		s.join(t, "two", "b")
		s.own(t, "one", "k", 1, status.Active)
		r := newResolver(t, s, resolver.Config{})
		first := expect(t, r, "k", "a")
		s.own(t, "two", "k", 2, status.Active)
		expect(t, r, "k", "a")
		r.Stale(first)
		second := expect(t, r, "k", "b")
		before := s.count()
		r.Stale(first) // of an owner that is not the newest any more
		expect(t, r, "k", "b")
		if s.count() != before {
			t.Error("an outdated complaint caused a read")
		}
		r.Stale(second)
		expect(t, r, "k", "b")
		if s.count() != before+1 {
			t.Error("a complaint caused no read")
		}
	})
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "a")
		r := newResolver(t, s, resolver.Config{Known: func(key string) bool { return key == "k" }})
		go func() {
			time.Sleep(5 * time.Second)
			s.own(t, "one", "k", 1, status.Active)
		}()
		start := time.Now()
		o, err := r.Await(t.Context(), "k")
		if waited := time.Since(start); err != nil || o.Instance.Address != "a" || waited > 5200*time.Millisecond {
			t.Errorf("%+v, %v after %v", o, err, waited)
		}
		if _, err := r.Await(t.Context(), "stranger"); !errors.Is(err, resolver.ErrUnknown) {
			t.Error(err)
		}
		s.own(t, "one", "k", 1, status.Inactive)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := r.Await(ctx, "k"); err != nil {
			t.Error("fresh enough:", err)
		}
		time.Sleep(time.Second + 1)
		_, err = r.Await(ctx, "k")
		if !errors.Is(err, resolver.ErrNoOwner) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestCallersContextEndsItsWaitAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "a")
		s.own(t, "one", "k", 1, status.Active)
		s.fail(func() error { time.Sleep(time.Second); return nil })
		r := newResolver(t, s, resolver.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := r.Resolve(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, resolver.ErrUnavailable) {
				t.Error(err)
			}
		})
		wg.Go(func() { expect(t, r, "k", "a") })
		wg.Wait()
		if s.count() != 1 {
			t.Errorf("%d reads", s.count())
		}
	})
}

func TestLeasesInsteadOfStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "a")
		session := lease.NewSession("one", 10*time.Second)
		if _, err := s.OpenSession(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		grant, err := s.Acquire(t.Context(), session, []string{"j", "k"})
		if err != nil {
			t.Fatal(err)
		}
		r := newResolver(t, s, resolver.Config{Leases: s})
		if o := expect(t, r, "k", "a"); o.Token != grant.Leases[1].Token || o.State != status.Active {
			t.Errorf("%+v", o)
		}
		expect(t, r, "j", "a")
		expect(t, r, "free", resolver.ErrNoOwner)
		if s.count() != 0 {
			t.Error("statuses were read")
		}
		time.Sleep(11 * time.Second) // the session lapses
		expect(t, r, "k", resolver.ErrNoOwner)
	})
}
