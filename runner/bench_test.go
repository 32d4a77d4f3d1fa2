package runner

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
)

// benchSet is a running set over a store in memory, in real time.
func benchSet(b *testing.B) *Set {
	b.Helper()
	m, err := memory.New(memory.Config{})
	if err != nil {
		b.Fatal(err)
	}
	set, err := NewSet(m, instance.New(), Config{Status: m})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- set.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return set
}

// BenchmarkTerm is one whole term of one workload: acquire, start, drain, Inactive, release, forget.
func BenchmarkTerm(b *testing.B) {
	set := benchSet(b)
	started := make(chan struct{})
	spec := Spec{Key: "job", Work: func(_ context.Context, term *Term) error {
		started <- struct{}{}
		<-term.Draining()
		return nil
	}}
	b.ReportAllocs()
	for b.Loop() {
		if err := set.Start(spec); err != nil {
			b.Fatal(err)
		}
		<-started
		set.Stop("job")
		for len(set.Keys()) > 0 {
			<-set.Changed()
		}
	}
}

// await waits until the books of the set say so.
func await(set *Set, holds func() bool) {
	for {
		set.mu.Lock()
		ok := holds()
		set.mu.Unlock()
		if ok {
			return
		}
		<-set.Changed()
	}
}

// BenchmarkRunning is what a workload costs while its work runs: memory, the worker's stack included.
func BenchmarkRunning(b *testing.B) {
	set := benchSet(b)
	measure := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := measure()
	const n = 10_000
	for b.Loop() {
		for i := range n {
			if err := set.Start(Spec{Key: fmt.Sprint(i), Work: untilDrain}); err != nil {
				b.Fatal(err)
			}
		}
		await(set, func() bool { return set.working == n })
		b.ReportMetric(float64(measure()-before)/n, "B/workload")
		set.StopAll()
		await(set, func() bool { return set.open == 0 })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/workload")
}
