package coordinator

import (
	"testing"
	"time"
)

func TestSettling(t *testing.T) {
	s := settling{window: 10}
	if !s.settled(0) {
		t.Error("nothing changed, and it has not settled")
	}
	s.change(100)
	if s.settled(109) || !s.settled(110) {
		t.Error("a change settles after the window")
	}
	// Change after change, never quiet for the window.
	for now := time.Duration(200); now < 250; now += 5 {
		s.change(now)
		if s.settled(now + 4) {
			t.Fatalf("settled at %d", now)
		}
	}
	if !s.settled(250) {
		t.Error("unbroken change must settle after five windows")
	}
	s.change(251)
	if s.settled(255) || !s.settled(261) {
		t.Error("the count did not start afresh")
	}
	at := settling{}
	at.change(5)
	if !at.settled(5) {
		t.Error("without a window everything settles at once")
	}
}

func TestRingKeepsTheNewest(t *testing.T) {
	var r ring
	for i := range mostEvents + 10 {
		r.add(Event{Key: string(rune('a' + i%26)), At: time.Unix(int64(i), 0)})
	}
	got := r.list()
	if len(got) != mostEvents || got[0].At.Unix() != 10 || got[mostEvents-1].At.Unix() != mostEvents+9 {
		t.Errorf("%d events from %v to %v", len(got), got[0].At.Unix(), got[len(got)-1].At.Unix())
	}
}
