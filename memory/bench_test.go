package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

func benchStore(b *testing.B) *memory.Store {
	b.Helper()
	s, err := memory.New(memory.Config{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func keys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("workload-%06d", i))
	}
	return keys
}

// The cost of a renewal must not depend on how many leases hang off the session.
func BenchmarkRenew(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("held=%d", n), func(b *testing.B) {
			s, ctx := benchStore(b), b.Context()
			sess := lease.NewSession("a", 15*time.Second)
			if _, err := s.OpenSession(ctx, sess); err != nil {
				b.Fatal(err)
			}
			if g, err := s.Acquire(ctx, sess, keys(n)); err != nil || len(g.Leases) != n {
				b.Fatal(err, len(g.Leases))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Renew(ctx, sess); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// An empty batch extends all of an owner's records: its cost must not depend on how many.
func BenchmarkPutStatusEmpty(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			s, ctx := benchStore(b), b.Context()
			var records []status.Record
			for _, key := range keys(n) {
				records = append(records, status.Record{Key: key, State: status.Active, Token: 1})
			}
			if err := s.PutStatus(ctx, "a", 15*time.Second, records); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.PutStatus(ctx, "a", 15*time.Second, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			s, ctx := benchStore(b), b.Context()
			sess := lease.NewSession("a", 15*time.Second)
			if _, err := s.OpenSession(ctx, sess); err != nil {
				b.Fatal(err)
			}
			keys := keys(n)
			b.ReportAllocs()
			for b.Loop() {
				g, err := s.Acquire(ctx, sess, keys)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Release(ctx, sess, g.Leases); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Renew(ctx, sess); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A heartbeat in a fleet where nothing changes.
func BenchmarkHeartbeatUnchanged(b *testing.B) {
	for _, n := range []int{3, 1000} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			s, ctx := benchStore(b), b.Context()
			var v registry.View
			var self registry.Self
			for i := range n {
				self.Instance = instance.Instance{ID: instance.ID(fmt.Sprint("i", i))}
				var err error
				if v, err = s.Heartbeat(ctx, self, time.Hour, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if u, err := s.Heartbeat(ctx, self, time.Hour, v.Generation); err != nil || !u.Unchanged {
					b.Fatal(err, u)
				}
			}
		})
	}
}
