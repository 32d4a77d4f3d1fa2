package witness

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// story drives a witness with a clock of its own, in milliseconds.
type story struct {
	t *testing.T
	*Witness
	clock Stamp
	told  []Kind
}

func newStory(t *testing.T, catalogue ...string) *story {
	s := &story{t: t, clock: ms(1)}
	s.Witness = New(catalogue, nil, time.Second, func(e Event) { s.told = append(s.told, e.Kind) })
	s.now = func() Stamp { return s.clock }
	return s
}

func ms(n int) Stamp { return Stamp(n) * Stamp(time.Millisecond) }

func (s *story) at(n int) *story { s.clock = ms(n); return s }

func (s *story) record(e Event) *story {
	s.t.Helper()
	if e.At == 0 {
		e.At = s.clock
	}
	if err := s.Record(e); err != nil {
		s.t.Fatalf("Record(%+v): %v", e, err)
	}
	return s
}

func (s *story) join(pods ...string) *story {
	s.t.Helper()
	for _, p := range pods {
		s.record(Event{Kind: Joined, Pod: p})
	}
	return s
}

func (s *story) start(pod string, token uint64) *story {
	s.t.Helper()
	return s.record(Event{Kind: Started, Pod: pod, Workload: "a", Token: token, Valid: true})
}

func (s *story) end(kind Kind, pod string, token uint64) *story {
	s.t.Helper()
	return s.record(Event{Kind: kind, Pod: pod, Workload: "a", Token: token, Valid: kind == Stopped})
}

func (s *story) write(pod string, token uint64) *story {
	s.t.Helper()
	return s.writeAt(s.clock, pod, token)
}

func (s *story) writeAt(at Stamp, pod string, token uint64) *story {
	s.t.Helper()
	if err := s.Append(Write{Workload: "a", Pod: pod, Token: token, At: at}); err != nil {
		s.t.Fatalf("Append(%s, %d): %v", pod, token, err)
	}
	return s
}

func (s *story) stale(at Stamp, pod string, token uint64) *story {
	s.t.Helper()
	if err := s.Append(Write{Workload: "a", Pod: pod, Token: token, At: at}); !errors.Is(err, ErrStale) {
		s.t.Fatalf("Append(%s, %d) = %v, want ErrStale", pod, token, err)
	}
	return s
}

func (s *story) split(want int) *story {
	s.t.Helper()
	if got := s.Summary().SplitBrain; got != want {
		s.t.Errorf("splitBrain = %d, want %d", got, want)
	}
	return s
}

func TestHandoverIsNoSplitBrain(t *testing.T) {
	s := newStory(t, "a").join("p1", "p2")
	s.start("p1", 1).at(50).write("p1", 1).at(60).end(Stopped, "p1", 1)
	s.at(64).start("p2", 2).at(100).write("p2", 2).split(0)
	got := s.Summary()
	if got.Handovers != 1 || got.HandoverP50Ms != 4 || got.HandoverP99Ms != 4 || got.Failovers != 0 || got.Writes != 2 {
		t.Errorf("%+v", got)
	}
}

func TestFailoverAfterKill(t *testing.T) {
	s := newStory(t, "a").join("p1", "p2")
	s.start("p1", 1).at(100).record(Event{Kind: Killed, Pod: "p1"})
	s.at(3100).start("p2", 2).split(0)
	if got := s.Summary(); got.Failovers != 1 || got.FailoverMaxMs != 3000 || got.Handovers != 0 {
		t.Errorf("%+v", got)
	}
}

func TestTwoOwnersAtOnce(t *testing.T) {
	t.Run("the older goes on", func(t *testing.T) {
		s := newStory(t, "a").start("p1", 1)
		s.at(50).start("p2", 2).split(0) // p1 may have lost it at 2 ms
		s.at(60).stale(s.clock, "p1", 1).split(1)
		s.at(70).stale(s.clock, "p1", 1).split(1) // the same pair counts once
	})
	t.Run("the older still holds it when its worker returns", func(t *testing.T) {
		newStory(t, "a").start("p1", 1).at(50).start("p2", 2).at(60).end(Stopped, "p1", 1).split(1)
	})
	t.Run("the older is known to have lost it when its worker returns", func(t *testing.T) {
		newStory(t, "a").start("p1", 1).at(50).start("p2", 2).at(60).end(Lost, "p1", 1).split(0)
	})
	t.Run("the report arrives late", func(t *testing.T) {
		s := newStory(t, "a").at(100).start("p2", 2).at(200).write("p2", 2)
		s.record(Event{Kind: Started, Pod: "p1", Workload: "a", Token: 1, At: ms(10), Valid: true}).split(0)
		s.stale(ms(150), "p1", 1).split(1)
	})
	t.Run("across a third term", func(t *testing.T) {
		s := newStory(t, "a").start("p1", 1).at(50).start("p2", 2).at(60).end(Stopped, "p2", 2)
		s.at(70).start("p3", 3).at(80).stale(s.clock, "p1", 1).split(2)
	})
}

func TestOneTokenTwoPods(t *testing.T) {
	newStory(t, "a").start("p1", 1).at(5000).start("p2", 1).split(1)
}

func TestWriteAfterTheWorkerReturned(t *testing.T) {
	s := newStory(t, "a").start("p1", 1).at(50).end(Stopped, "p1", 1)
	s.at(60).writeAt(ms(40), "p1", 1).split(0) // sent before, arrived after
	s.writeAt(ms(55), "p1", 1).split(1)
	s.writeAt(ms(58), "p1", 1).split(1)
}

// A process that is stopped between "am I the owner?" and the write is refused, and accused of nothing.
func TestPausedOwner(t *testing.T) {
	s := newStory(t, "a").join("p1", "p2").start("p1", 1)
	s.at(100).record(Event{Kind: Paused, Pod: "p1"})
	if o := s.Owners()[0]; o.State != "paused" || o.Owned() {
		t.Errorf("%+v", o)
	}
	s.at(4000).start("p2", 2).at(5000).record(Event{Kind: Resumed, Pod: "p1"})
	s.stale(ms(99), "p1", 1).at(5002).end(Lost, "p1", 1).split(0)
	if got := s.Summary(); got.StaleRefused != 1 || got.Handovers != 0 || got.Failovers != 0 {
		t.Errorf("%+v", got)
	}
}

func TestUnowned(t *testing.T) {
	for _, c := range []struct {
		name, state string
		tell        func(*story)
	}{
		{"never started", "ended", func(*story) {}},
		{"runs", "running", func(s *story) { s.start("p1", 1) }},
		{"drains", "draining", func(s *story) { s.start("p1", 1).end(Draining, "p1", 1) }},
		{"stopped", "ended", func(s *story) { s.start("p1", 1).end(Stopped, "p1", 1) }},
		{"lost", "ended", func(s *story) { s.start("p1", 1).end(Lost, "p1", 1) }},
		{"killed", "ended", func(s *story) { s.start("p1", 1).record(Event{Kind: Killed, Pod: "p1"}) }},
		{"silent", "silent", func(s *story) { s.start("p1", 1).at(1500) }},
		{"an older owner is no owner", "ended", func(s *story) { s.start("p2", 2).end(Stopped, "p2", 2).start("p1", 1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t, "a").join("p1", "p2").at(2)
			c.tell(s)
			o := s.Owners()[0]
			want := 1
			if o.Owned() {
				want = 0
			}
			if o.State != c.state || s.Summary().Unowned != want || len(s.Unowned()) != want {
				t.Errorf("owner %+v, unowned %d", o, s.Summary().Unowned)
			}
		})
	}
}

func TestBalance(t *testing.T) {
	s := newStory(t, "a", "b", "c").join("p1", "p2")
	var token uint64
	own := func(key, pod string) {
		token++
		s.record(Event{Kind: Started, Pod: pod, Workload: key, Token: token, Valid: true})
	}
	check := func(want bool) {
		t.Helper()
		if load, even := s.Balance(); even != want {
			t.Errorf("even = %v with %v", even, load)
		}
	}
	check(false)
	own("a", "p1")
	own("b", "p1")
	check(false) // c has no owner
	own("c", "p1")
	check(false) // 3 and 0
	own("c", "p2")
	check(true)
	s.join("p3")
	check(false) // 2, 1 and 0
	own("b", "p3")
	check(true)
	s.record(Event{Kind: Draining, Pod: "p3"})
	check(false) // b is still with a pod that takes no work
	if s.Moves() != 2 {
		t.Errorf("moves = %d, want 2", s.Moves())
	}
	pods := s.Pods()
	if len(pods) != 3 || pods[0] != (Pod{"p1", "running", 1}) || pods[2] != (Pod{"p3", "draining", 1}) {
		t.Errorf("pods %v", pods)
	}
}

func TestMovesAfterTheRunAreNotCounted(t *testing.T) {
	s := newStory(t, "a").join("p1", "p2").start("p1", 1)
	if unowned := s.Close(); len(unowned) != 0 {
		t.Errorf("unowned: %v", unowned)
	}
	s.end(Stopped, "p1", 1).at(9).start("p2", 2)
	if got := s.Summary(); got.Handovers != 0 {
		t.Errorf("%+v", got)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	s := newStory(t, "a")
	for _, e := range []Write{
		{Workload: "b", Pod: "p", Token: 1, At: s.clock},
		{Workload: "a", Pod: "", Token: 1, At: s.clock},
		{Workload: "a", Pod: "p", Token: 0, At: s.clock},
		{Workload: "a", Pod: "p", Token: 1, At: 0},
		{Workload: "a", Pod: "p", Token: 1, At: s.clock + 1},
	} {
		if err := s.Append(e); !errors.Is(err, ErrRefused) {
			t.Errorf("Append(%+v) = %v", e, err)
		}
	}
	for _, e := range []Event{
		{Kind: Joined}, {Kind: Started, Pod: "p"}, {Kind: "x", Pod: "p", Workload: "a", Token: 1, At: s.clock},
	} {
		if err := s.Record(e); !errors.Is(err, ErrRefused) {
			t.Errorf("Record(%+v) = %v", e, err)
		}
	}
	if len(s.told) != 0 || s.Summary().Writes != 0 {
		t.Errorf("told %v, %+v", s.told, s.Summary())
	}
}

func TestPercentile(t *testing.T) {
	var values []time.Duration
	for i := range 200 {
		values = append(values, time.Duration(200-i)*time.Millisecond)
	}
	for p, want := range map[float64]float64{50: 100, 99: 198, 100: 200, 0: 1} {
		if got := percentile(values, p); got != want {
			t.Errorf("percentile %v = %v, want %v", p, got, want)
		}
	}
	if got := percentile([]time.Duration{1234567}, 50); got != 1.235 {
		t.Errorf("rounded to %v", got)
	}
}

func TestOverHTTP(t *testing.T) {
	w := New([]string{"a"}, nil, time.Second, func(Event) {})
	server := httptest.NewServer(Handler(w))
	defer server.Close()
	c := NewClient(server.URL)
	if err := c.Report(Event{Kind: Started, Pod: "p1", Workload: "a", Token: 2, At: Now(), Valid: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.Append(t.Context(), Write{Workload: "a", Pod: "p1", Token: 2, At: Now()}); err != nil {
		t.Fatal(err)
	}
	if err := c.Append(t.Context(), Write{Workload: "a", Pod: "p0", Token: 1, At: Now()}); !errors.Is(err, ErrStale) {
		t.Errorf("older token: %v", err)
	}
	if err := c.Append(t.Context(), Write{Workload: "b", Pod: "p1", Token: 2, At: Now()}); err == nil || !strings.Contains(err.Error(), "not in the catalogue") {
		t.Errorf("unknown workload: %v", err)
	}
	if got := w.Summary(); got.Writes != 1 || got.StaleRefused != 1 || got.SplitBrain != 0 {
		t.Errorf("%+v", got)
	}
}
