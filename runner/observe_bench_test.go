package runner

import (
	"testing"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
)

// tellNobody tells of everything that a set has to tell.
func tellNobody(s *Set) {
	tell(s, s.observe.state, StateObserver.ObserveState, StateEvent{Key: "k", To: Active})
	tell(s, s.observe.work, WorkObserver.ObserveWork, WorkEvent{Key: "k", End: EndReturned})
	tell(s, s.observe.stuck, StuckObserver.ObserveStuck, StuckEvent{Key: "k"})
	tell(s, s.observe.status, StatusObserver.ObserveStatus, StatusEvent{Records: 1})
}

// unobserved is a set whose observers are absent, as everybody's are who did not ask for them.
func unobserved(tb testing.TB) *Set {
	tb.Helper()
	m, err := memory.New(memory.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	set, err := NewSet(m, instance.New(), Config{Observers: []any{"not an observer"}})
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

func TestAbsentObserversCostNoMemory(t *testing.T) {
	set := unobserved(t)
	if n := testing.AllocsPerRun(1000, func() { tellNobody(set) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkAbsentObservers is the price of one event of each kind where nobody listens.
func BenchmarkAbsentObservers(b *testing.B) {
	set := unobserved(b)
	b.ReportAllocs()
	for b.Loop() {
		tellNobody(set)
	}
}
