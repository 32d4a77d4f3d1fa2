package clock

import (
	"testing"
	"time"
)

// delayed reads a machine's clocks whose thread is held up for a while at one of its readings.
type delayed struct {
	now, slept int64
	reads      int
	at         int // the reading before which it is held up
	by         int64
}

func (d *delayed) read() int64 {
	d.reads++
	if d.reads == d.at {
		d.now += d.by
	}
	d.now += 50
	return d.now
}

func TestADelayBetweenTwoReadingsIsNotSleep(t *testing.T) {
	for at := range 7 {
		d := &delayed{slept: int64(3 * time.Hour), at: at, by: int64(20 * time.Second)}
		got := apart(d.read, func() int64 { return d.read() + d.slept })
		if off := (got - 3*time.Hour).Abs(); off > time.Microsecond {
			t.Errorf("held up at reading %d: off by %v", at, off)
		}
	}
}

func TestAThreadThatIsAlwaysHeldUpGetsTheBestOfItsReadings(t *testing.T) {
	d := &delayed{}
	slow := func() int64 { d.now += int64(time.Millisecond); return d.read() }
	if got := apart(slow, slow); got.Abs() > time.Millisecond || d.reads > 1000 {
		t.Errorf("%v apart after %d readings", got, d.reads)
	}
}

// noisy is a clock whose two readings never fit exactly.
type noisy struct {
	Clock
	slept time.Duration
}

func (n *noisy) Slept() time.Duration { return n.slept }

func TestLineTakesNoiseForNoSleepAndSleepExactly(t *testing.T) {
	start := time.Now()
	n := &noisy{Clock: still{start}, slept: time.Hour}
	l := NewLine(n)
	for _, d := range []time.Duration{-999 * time.Microsecond, -1, 0, 1, 999 * time.Microsecond} {
		n.slept = time.Hour + d
		if got := l.Now(); got != 0 {
			t.Errorf("noise of %v reads as %v", d, got)
		}
	}
	n.slept = time.Hour + 1500*time.Microsecond
	if got := l.Now(); got != 1500*time.Microsecond {
		t.Errorf("sleep of 1.5 ms reads as %v", got)
	}
}

// still is a clock that stands still.
type still struct{ at time.Time }

func (s still) Now() time.Time             { return s.at }
func (still) Slept() time.Duration         { return 0 }
func (still) NewTimer(time.Duration) Timer { return nil }
func (still) SleepPoll() time.Duration     { return 0 }
func (still) Float64() float64             { return 0 }

func TestTheMachinesReadingsAreClose(t *testing.T) {
	a, b := slept(), slept()
	if (a - b).Abs() > 10*time.Millisecond {
		t.Errorf("%v, then %v", a, b)
	}
}

// closing is a machine that is suspended right after its first reading.
type closing struct {
	still
	slept *time.Duration
}

func (c closing) Now() time.Time {
	at := c.at
	*c.slept += time.Hour
	return at
}

func (c closing) Slept() time.Duration { return *c.slept }

func TestASuspensionBetweenTheTwoReadingsCounts(t *testing.T) {
	var slept time.Duration
	l := NewLine(closing{still{time.Now()}, &slept})
	if got := l.Now(); got < time.Hour {
		t.Errorf("reads %v after an hour of sleep", got)
	}
}
