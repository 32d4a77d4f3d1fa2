package coordinator

import (
	"context"
	"testing"

	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// unobserved is an engine whose observers are absent, as everybody's are who did not ask for them.
func unobserved(tb testing.TB) *engine {
	tb.Helper()
	m, err := memory.New(memory.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := New(m, nil, func(context.Context, *runner.Term, int) error { return nil }, Config{Observers: []any{"not an observer"}})
	if err != nil {
		tb.Fatal(err)
	}
	return c.e
}

// tellNobody tells of a heartbeat and a plan. What is noted besides is for Snapshot, which everybody has.
func tellNobody(e *engine) {
	e.emitBeat(BeatEvent{Instance: e.self.ID})
	e.emitPlan(PlanEvent{Instance: e.self.ID})
}

func TestAbsentObserversCostNoMemory(t *testing.T) {
	e := unobserved(t)
	if n := testing.AllocsPerRun(1000, func() { tellNobody(e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkAbsentObservers is the price of one event of each kind where nobody listens.
func BenchmarkAbsentObservers(b *testing.B) {
	e := unobserved(b)
	b.ReportAllocs()
	for b.Loop() {
		tellNobody(e)
	}
}
