package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/resolver"
	"github.com/tenure-go/tenure/status"
)

func TestOutage(t *testing.T) {
	down := errors.New("down")
	for name, before := range map[string]func() error{
		"refuses": func() error { return fmt.Errorf("%w: %w", lease.ErrUnavailable, down) },
		"panics":  func() error { panic("store") },
		"hangs":   func() error { time.Sleep(3 * time.Second); return down },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				s.join(t, "one", "a")
				s.own(t, "one", "k", 1, status.Active)
				r := newResolver(t, s, resolver.Config{})
				expect(t, r, "k", "a")
				s.fail(before)
				start := time.Now()
				for time.Since(start) < 9*time.Second {
					asked := time.Now()
					expect(t, r, "k", "a")
					if waited := time.Since(asked); waited > 2*time.Second {
						t.Fatalf("waited %v", waited)
					}
					time.Sleep(50 * time.Millisecond)
				}
				time.Sleep(2 * time.Second)
				expect(t, r, "k", resolver.ErrUnavailable)
				expect(t, r, "other", resolver.ErrUnavailable)
				s.fail(nil)
				time.Sleep(time.Second)
				expect(t, r, "k", "a")
				time.Sleep(time.Minute) // what hung comes back
			})
		})
	}
}

// Strangers' keys do not fill the memory, and everyone is answered all the same.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		s.join(t, "one", "a")
		s.own(t, "one", "k", 1, status.Active)
		r := newResolver(t, s, resolver.Config{MaxAge: time.Millisecond, MaxStale: time.Millisecond, CallTimeout: time.Second})
		s.fail(func() error { time.Sleep(900 * time.Millisecond); return nil })
		for range 3 {
			expect(t, r, "k", "a") // a read takes far longer than answers last
			time.Sleep(time.Second)
		}
		s.fail(nil)
		for i := range 1_000 {
			r.Hint(lease.Change{Kind: lease.ChangeReleased, Key: fmt.Sprint(i)})
		}
		if n := resolver.Remembered(r); n != 1 {
			t.Errorf("hints alone made %d entries", n)
		}
		resolver.Fill(r, 100_100)
		expect(t, r, "k", "a")
		if n := resolver.Remembered(r); n > 100_000 {
			t.Errorf("%d entries", n)
		}
		time.Sleep(time.Minute)
		expect(t, r, "k", "a")
		if n := resolver.Remembered(r); n != 1 {
			t.Errorf("%d entries, although one key is wanted", n)
		}
	})
}

func TestConfig(t *testing.T) {
	m := newStore(t)
	for name, c := range map[string]struct {
		cfg  resolver.Config
		want string
	}{
		"negative":  {resolver.Config{MaxAge: -1}, "resolver.Config.MaxAge -1ns"},
		"too short": {resolver.Config{CallTimeout: time.Microsecond}, "resolver.Config.CallTimeout 1µs"},
		"stale":     {resolver.Config{MaxAge: time.Minute, MaxStale: time.Second}, "MaxStale 1s: must be at least MaxAge = 1m0s"},
		"retry":     {resolver.Config{MaxAge: time.Second, Retry: time.Minute}, "Retry 1m0s: must be at most MaxAge = 1s"},
	} {
		_, err := resolver.New(m, c.cfg)
		if !errors.Is(err, resolver.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := resolver.New(nil, resolver.Config{}); !errors.Is(err, resolver.ErrInvalid) {
		t.Error(err)
	}
	for _, cfg := range []resolver.Config{{}, {MaxAge: time.Millisecond}, {MaxAge: time.Hour}} {
		if _, err := resolver.New(m, cfg); err != nil {
			t.Error(err)
		}
	}
}

func TestRunWithoutHintsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		plain := struct {
			registry.Registry
			status.Store
		}{s, s}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := newResolver(t, plain, resolver.Config{}).Run(ctx); err != nil {
			t.Error(err)
		}
		// Hints that keep breaking, and a store that panics, are tried again.
		broken := &breaking{}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := newResolver(t, plain, resolver.Config{Hints: broken}).Run(ctx); err != nil {
			t.Error(err)
		}
		if broken.calls < 10 || broken.calls > 30 {
			t.Errorf("%d attempts in a minute", broken.calls)
		}
	})
}

type breaking struct{ calls int }

func (b *breaking) Watch(context.Context, func(lease.Change)) error {
	if b.calls++; b.calls%2 == 0 {
		panic("watch")
	}
	return errors.New("broken")
}
