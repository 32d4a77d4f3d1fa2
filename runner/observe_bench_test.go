package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/status"
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

func TestWorkEventsTellHowLongTheReleaseTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		heard := &recorder{}
		set := mustSet(t, store, "a", Config{Status: slowStatus{store}, Observers: []any{heard}})
		mustStart(t, set, Spec{Key: "job", Work: func(_ context.Context, term *Term) error {
			<-term.Draining()
			time.Sleep(3 * time.Second)
			return nil
		}})
		s := begin(t, set.Run)
		pass(5 * time.Second)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if w := heard.works.get(); len(w) != 1 || w[0].WindDown != 4*time.Second || w[0].LetGo != time.Second {
			t.Errorf("%+v", w)
		}
	})
}

// slowStatus takes a second for each write.
type slowStatus struct{ status.Store }

func (s slowStatus) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	time.Sleep(time.Second)
	return s.Store.PutStatus(ctx, owner, ttl, records)
}
