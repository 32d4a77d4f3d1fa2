package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// blind hides the hints and other capabilities of a store.
type blind struct{ lease.Manager }

// The key of a revoked lease is free at its session's expiry as it stood then. A holder that
// cannot verify must have stopped by then, although its renewals succeed.
func TestRevokedTermEndsInTimeThoughNothingCanBeVerified(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(blind{s})
		a, b := start(t, w, lease.KeeperConfig{}), start(t, s, lease.KeeperConfig{})
		ua := a.claim("job", &user{})
		after(time.Minute)
		w.set(func(_ context.Context, op string, do func() error) error {
			if op == "Verify" {
				return lease.ErrUnavailable
			}
			return do()
		})
		if err := s.Revoke(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		ub := b.claim("job", &user{})
		for range 100 {
			after(100 * time.Millisecond)
			if ub.hold() != nil {
				break
			}
		}
		if ub.hold() == nil || ua.hold().Valid() || len(ua.losses()) != 1 {
			t.Errorf("next holder %v, the revoked one is valid: %v, losses %v", ub.hold(), ua.hold().Valid(), ua.losses())
		}
		a.end()
		b.end()
	})
}

// An answer that was on its way when the revocation became known says nothing about it.
func TestVerifyFromBeforeARevocationClearsNoSuspicion(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(blind{s})
		a := start(t, w, lease.KeeperConfig{})
		ua := a.claim("job", &user{})
		after(time.Millisecond)
		late := false
		w.set(func(_ context.Context, op string, do func() error) error {
			if op != "Verify" || late {
				return do()
			}
			late = true
			err := do() // held, it says
			if err := s.Revoke(t.Context(), "job"); err != nil {
				t.Error(err)
			}
			w.set(func(_ context.Context, op string, do func() error) error {
				if op == "Verify" {
					return lease.ErrUnavailable
				}
				return do()
			})
			time.Sleep(1900 * time.Millisecond) // a renewal tells of the revocation meanwhile
			return err
		})
		after(20 * time.Second)
		if ua.hold().Valid() || len(ua.losses()) != 1 {
			t.Errorf("valid %v, losses %v", ua.hold().Valid(), ua.losses())
		}
		a.end()
	})
}
