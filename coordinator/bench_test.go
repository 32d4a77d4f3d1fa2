package coordinator

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// resting is the loop of a coordinator that runs n workloads, with nothing due.
func resting(tb testing.TB, n int) *loop {
	tb.Helper()
	m, err := memory.New(memory.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	all := make([]Workload[int], n)
	for i := range all {
		all[i].Key = fmt.Sprintf("workload-%06d", i)
	}
	c, err := New(m, all, func(context.Context, *runner.Term, int) error { return nil }, Config{})
	if err != nil {
		tb.Fatal(err)
	}
	e := c.e
	l := &loop{
		e: e, calls: tb.Context(), answers: make(chan func()), done: make(chan struct{}),
		settle: settling{window: e.window}, cat: e.currentCatalogue(), jobs: e.jobs, calm: true,
	}
	// A heartbeat is under way, so none is sent; nothing else is asked for before it is answered.
	l.beat.lane.busy = true
	for _, w := range all {
		l.jobs.wait(w.Key)
		l.jobs.assign(l.jobs.all[w.Key])
	}
	return l
}

// What the loop does on a wake-up that brings nothing new allocates nothing, however much runs here.
func TestRestCostsNoMemory(t *testing.T) {
	for _, n := range []int{1, 10_000} {
		l := resting(t, n)
		if got := testing.AllocsPerRun(100, func() { l.step() }); got != 0 {
			t.Errorf("%d workloads: %v allocations in a step", n, got)
		}
	}
}

// BenchmarkTick is a wake-up of the loop that brings nothing new.
func BenchmarkTick(b *testing.B) {
	for _, n := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprintf("workloads=%d", n), func(b *testing.B) {
			l := resting(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if l.step() > time.Minute {
					b.Fatal("it would sleep")
				}
			}
		})
	}
}
