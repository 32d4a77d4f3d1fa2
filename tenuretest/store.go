package tenuretest

import (
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// newStore makes the store of a job or a fleet: one that notices when it loses its data, of a fleet
// that was provisioned, and that takes sessions of the TTL.
func newStore(t testing.TB, ttl time.Duration) *memory.Store {
	t.Helper()
	s, err := memory.New(memory.Config{Incarnations: true, MaxTTL: max(ttl, lease.DefaultMaxTTL)})
	if err != nil {
		t.Fatalf("store: %v", err)
	}
	if err := s.Provision(t.Context()); err != nil {
		t.Fatalf("store: %v", err)
	}
	return s
}

// guarded reports whether a memory store notices when it loses its data: one that does not never
// leaves its first incarnation.
func guarded(t testing.TB, s *memory.Store) bool {
	t.Helper()
	ctx := t.Context()
	probe := lease.NewSession("tenuretest", lease.MinTTL)
	in, err := s.OpenSession(ctx, probe)
	if err == nil {
		err = s.CloseSession(ctx, probe)
	}
	if err != nil {
		t.Fatalf("store: %v", err)
	}
	return in.Number > 1
}
