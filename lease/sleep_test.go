package lease_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// suspended is a machine whose sleep is chosen by the test: its monotonic clock stands still
// meanwhile, so timers know nothing of it.
type suspended struct {
	clock.Clock
	slept *atomic.Int64
}

func (s suspended) Slept() time.Duration     { return time.Duration(s.slept.Load()) }
func (s suspended) SleepPoll() time.Duration { return 50 * time.Millisecond }

func TestSleptTimeCountsAtOnceAndEndsTheTermWithin100ms(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		var slept atomic.Int64
		r := start(t, s, lease.KeeperConfig{Clock: suspended{clock.Or(nil), &slept}})
		u := r.claim("job", &user{again: true})
		after(5 * time.Second)
		h := u.hold()
		slept.Store(int64(8 * time.Second)) // within the deadline, or past it: at least 7 s were left
		if left := h.Left(); left > time.Second+time.Millisecond {
			t.Errorf("%v left after 8 s of sleep", left)
		}
		slept.Store(int64(time.Hour))
		if h.Valid() {
			t.Fatal("valid after an hour of sleep")
		}
		resumed := time.Now()
		after(100 * time.Millisecond)
		if len(u.losses()) != 1 || u.lostAt[0].Sub(resumed) > 100*time.Millisecond {
			t.Fatalf("worker not told within 100 ms: %v", u.losses())
		}
		after(10 * time.Second)
		if n := u.hold(); n == h || !n.Valid() {
			t.Error("work did not go on after the sleep")
		}
		r.end()
	})
}

func TestMachineClockCountsFromNow(t *testing.T) {
	l := clock.NewLine(clock.Or(nil))
	a := l.Now()
	b := l.Now()
	if a < -time.Millisecond || b < a-time.Millisecond || b > time.Minute {
		t.Errorf("line reads %v, then %v", a, b)
	}
}
