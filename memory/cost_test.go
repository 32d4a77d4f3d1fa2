package memory_test

import (
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/race"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// What an instance asks for in every interval allocates the same however much it holds. A change that makes
// it dearer says so here.
func TestSteadyCallsAllocateTheSameWhateverIsHeld(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates as well")
	}
	for _, n := range []int{1, 10_000} {
		s, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, sess := t.Context(), lease.NewSession("a", 15*time.Second)
		if _, err := s.OpenSession(ctx, sess); err != nil {
			t.Fatal(err)
		}
		g, err := s.Acquire(ctx, sess, keys(n))
		if err != nil || len(g.Leases) != n {
			t.Fatal(err, len(g.Leases))
		}
		var records []status.Record
		for _, l := range g.Leases {
			records = append(records, status.Record{Key: l.Key, State: status.Active, Token: l.Token})
		}
		if err := s.PutStatus(ctx, "a", 15*time.Second, records); err != nil {
			t.Fatal(err)
		}
		self := registry.Self{Instance: instance.Instance{ID: "a"}}
		v, err := s.Heartbeat(ctx, self, 15*time.Second, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			most float64
			call func() error
		}{
			{"Renew", renewAllocations, func() error { _, err := s.Renew(ctx, sess); return err }},
			{"Verify", verifyAllocations, func() error { _, err := s.Verify(ctx, sess, g.Leases[:1]); return err }},
			{"Heartbeat", beatAllocations, func() error { _, err := s.Heartbeat(ctx, self, 15*time.Second, v.Generation); return err }},
			{"PutStatus", putAllocations, func() error { return s.PutStatus(ctx, "a", 15*time.Second, nil) }},
		} {
			got := testing.AllocsPerRun(100, func() {
				if err := c.call(); err != nil {
					t.Fatal(err)
				}
			})
			if got > c.most {
				t.Errorf("%s with %d leases: %v allocations, want at most %v; if that is meant, change the number", c.name, n, got, c.most)
			}
		}
	}
}

// Nothing is kept of a call, so these are what the closures and answers take.
const (
	renewAllocations  = 0
	verifyAllocations = 0
	beatAllocations   = 0
	putAllocations    = 0
)
