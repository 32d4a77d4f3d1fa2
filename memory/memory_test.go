package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

const ttl = 10 * time.Second

// env is a store and the shorthand that keeps the tests readable. Every failure is fatal.
type env struct {
	*testing.T
	*memory.Store
	ctx context.Context
}

// bubble runs a test in virtual time on a new store.
func bubble(t *testing.T, cfg memory.Config, f func(e env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := memory.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		f(env{t, s, t.Context()})
	})
}

func (e env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("unexpected error: %v", err)
	}
}

func (e env) is(err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Fatalf("error is %v, want %v", err, want)
	}
}

func equal[T comparable](e env, what string, got, want T) {
	e.Helper()
	if got != want {
		e.Fatalf("%s is %v, want %v", what, got, want)
	}
}

func (e env) open(owner instance.ID) lease.Session {
	e.Helper()
	s := lease.NewSession(owner, ttl)
	_, err := e.OpenSession(e.ctx, s)
	e.ok(err)
	return s
}

func (e env) acquire(s lease.Session, keys ...string) lease.Grant {
	e.Helper()
	g, err := e.Acquire(e.ctx, s, keys)
	e.ok(err)
	return g
}

func (e env) take(s lease.Session, key string) lease.Lease {
	e.Helper()
	g := e.acquire(s, key)
	if len(g.Leases) != 1 {
		e.Fatalf("%q was not granted: %+v", key, g.Refused)
	}
	return g.Leases[0]
}

func (e env) refused(s lease.Session, key string) lease.Refusal {
	e.Helper()
	g := e.acquire(s, key)
	if len(g.Refused) != 1 {
		e.Fatalf("%q was granted: %+v", key, g.Leases)
	}
	return g.Refused[0]
}

func (e env) renew(s lease.Session) lease.Renewal {
	e.Helper()
	r, err := e.Renew(e.ctx, s)
	e.ok(err)
	return r
}

// reason is why the lease is lost; empty where it is held.
func (e env) reason(s lease.Session, l lease.Lease) lease.Reason {
	e.Helper()
	v, err := e.Verify(e.ctx, s, []lease.Lease{l})
	e.ok(err)
	if len(v.Lost) == 0 {
		return ""
	}
	equal(e, "the lost lease", v.Lost[0].Lease, l)
	return v.Lost[0].Reason
}

func (e env) beat(self registry.Self, known registry.Generation) registry.View {
	e.Helper()
	v, err := e.Heartbeat(e.ctx, self, ttl, known)
	e.ok(err)
	return v
}

func member(id instance.ID) registry.Self { return registry.Self{Instance: instance.Instance{ID: id}} }

func TestConfig(t *testing.T) {
	for _, most := range []time.Duration{-1, time.Microsecond, 25 * time.Hour} {
		_, err := memory.New(memory.Config{MaxTTL: most})
		var invalid *lease.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "memory.Config.MaxTTL" {
			t.Errorf("MaxTTL %v: error is %v", most, err)
		}
	}
	bubble(t, memory.Config{MaxTTL: ttl}, func(e env) {
		e.open("a")
		_, err := e.OpenSession(e.ctx, lease.NewSession("a", ttl+1))
		e.is(err, lease.ErrInvalid)
	})
	bubble(t, memory.Config{}, func(e env) {
		_, err := e.OpenSession(e.ctx, lease.NewSession("a", lease.DefaultMaxTTL+1))
		e.is(err, lease.ErrInvalid)
	})
}

// Every call, with good arguments: what holds for all of them is tested on all of them.
func calls(s *memory.Store) map[string]func(context.Context) error {
	sess := lease.NewSession("a", ttl)
	l := []lease.Lease{{Key: "k", Token: 1}}
	return map[string]func(context.Context) error{
		"OpenSession":  func(ctx context.Context) error { _, err := s.OpenSession(ctx, sess); return err },
		"Acquire":      func(ctx context.Context) error { _, err := s.Acquire(ctx, sess, []string{"k"}); return err },
		"Renew":        func(ctx context.Context) error { _, err := s.Renew(ctx, sess); return err },
		"Verify":       func(ctx context.Context) error { _, err := s.Verify(ctx, sess, l); return err },
		"Release":      func(ctx context.Context) error { return s.Release(ctx, sess, l) },
		"CloseSession": func(ctx context.Context) error { return s.CloseSession(ctx, sess) },
		"Leases":       func(ctx context.Context) error { _, err := s.Leases(ctx); return err },
		"Revoke":       func(ctx context.Context) error { return s.Revoke(ctx, "k") },
		"Provision":    func(ctx context.Context) error { return s.Provision(ctx) },
		"Watch":        func(ctx context.Context) error { return s.Watch(ctx, func(lease.Change) {}) },
		"Heartbeat":    func(ctx context.Context) error { _, err := s.Heartbeat(ctx, member("a"), ttl, 0); return err },
		"Members":      func(ctx context.Context) error { _, err := s.Members(ctx); return err },
		"BeginDrain":   func(ctx context.Context) error { return s.BeginDrain(ctx, "a") },
		"Leave":        func(ctx context.Context) error { return s.Leave(ctx, "a") },
		"PutStatus": func(ctx context.Context) error {
			return s.PutStatus(ctx, "a", ttl, []status.Record{{Key: "k", State: status.Active}})
		},
		"Statuses":    func(ctx context.Context) error { _, err := s.Statuses(ctx, []string{"k"}); return err },
		"AllStatuses": func(ctx context.Context) error { _, err := s.AllStatuses(ctx); return err },
	}
}

func TestEndedContextDoesNothing(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		for name, call := range calls(e.Store) {
			err := call(ctx)
			if !errors.Is(err, lease.ErrUnavailable) || !errors.Is(err, context.Canceled) {
				e.Errorf("%s: error is %v", name, err)
			}
		}
		v, err := e.Members(e.ctx)
		e.ok(err)
		all, err := e.AllStatuses(e.ctx)
		e.ok(err)
		equal(e, "the number of members and statuses", len(v.Members)+len(all), 0)
	})
}

func TestClose(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		other := e.Handle()
		a := e.open("a")
		l := e.take(a, "k")
		watch := make(chan error)
		go func() { watch <- e.Watch(e.ctx, func(lease.Change) {}) }()
		synctest.Wait()
		e.ok(e.Close())
		e.ok(e.Close())
		e.is(<-watch, lease.ErrClosed)
		for name, call := range calls(e.Store) {
			if err := call(e.ctx); !errors.Is(err, lease.ErrClosed) {
				e.Errorf("%s: error is %v", name, err)
			}
		}
		// The fleet lives on in other handles: closing let go of nothing.
		e.Store = other
		equal(e, "the reason", e.reason(a, l), "")
	})
}

func TestArgumentsAreCheckedFirst(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		e.ok(e.Close()) // so that only a check that comes first can answer ErrInvalid
		good := lease.NewSession("a", ttl)
		bad := []lease.Lease{{Key: "k"}, {Key: "\xff"}}
		check := func(name string, err error) {
			e.Helper()
			if !errors.Is(err, lease.ErrInvalid) {
				e.Errorf("%s: error is %v", name, err)
			}
		}
		for _, s := range []lease.Session{{}, {ID: "s", TTL: ttl}, {ID: "s", Owner: "a"}, {ID: "s", Owner: "a", TTL: time.Minute}} {
			_, err := e.OpenSession(e.ctx, s)
			check("OpenSession", err)
			_, err = e.Acquire(e.ctx, s, nil)
			check("Acquire", err)
			_, err = e.Renew(e.ctx, s)
			check("Renew", err)
			_, err = e.Verify(e.ctx, s, nil)
			check("Verify", err)
			check("Release", e.Release(e.ctx, s, nil))
			check("CloseSession", e.CloseSession(e.ctx, s))
		}
		_, err := e.Acquire(e.ctx, good, []string{"k", ""})
		check("Acquire key", err)
		_, err = e.Verify(e.ctx, good, bad)
		check("Verify key", err)
		check("Release key", e.Release(e.ctx, good, bad))
		check("Revoke", e.Revoke(e.ctx, "a\x00b"))
		check("Watch", e.Watch(e.ctx, nil))
		_, err = e.Heartbeat(e.ctx, member(""), ttl, 0)
		check("Heartbeat", err)
		_, err = e.Heartbeat(e.ctx, member("a"), 0, 0)
		check("Heartbeat TTL", err)
		check("BeginDrain", e.BeginDrain(e.ctx, ""))
		check("Leave", e.Leave(e.ctx, ""))
		check("PutStatus", e.PutStatus(e.ctx, "a", ttl, []status.Record{{Key: "k", State: "odd"}}))
		_, err = e.Statuses(e.ctx, []string{""})
		check("Statuses", err)
	})
}
