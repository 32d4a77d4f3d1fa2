// Package clock is the only place where the engines learn what time it is.
//
// The default is the time package, which testing/synctest makes virtual. The seam
// exists so that one instance of a simulation can pause, drift or sleep alone, and
// so that time during which the machine was suspended can be counted: Go's
// monotonic clock stands still then, a store's clock does not.
package clock

import (
	"math/rand/v2"
	"time"
)

// Clock tells time and makes timers. Implementations are safe for concurrent use.
type Clock interface {
	// Now returns a time with a monotonic reading; only differences of it are used.
	Now() time.Time
	// Slept returns how long the machine was suspended since it booted; only differences of it are used.
	Slept() time.Duration
	// NewTimer returns a timer that fires once after d of this clock.
	NewTimer(d time.Duration) Timer
	// SleepPoll is how often a waiter must look at Slept, because timers do not run during
	// suspension and fire late by all of it; 0 where the machine's sleep cannot be seen.
	SleepPoll() time.Duration
	// Float64 returns a number in [0, 1): the random part of waits, here so that a simulation replays.
	Float64() float64
}

// Timer is the part of time.Timer that the engines use.
type Timer interface {
	C() <-chan time.Time
	Reset(d time.Duration)
	Stop()
}

// Or returns c, or the machine's clock where c is nil.
func Or(c Clock) Clock {
	if c == nil {
		return machine{}
	}
	return c
}

type machine struct{}

func (machine) Now() time.Time                 { return time.Now() }
func (machine) Slept() time.Duration           { return slept() }
func (machine) NewTimer(d time.Duration) Timer { return timer{time.NewTimer(soon(d))} }
func (machine) SleepPoll() time.Duration       { return sleepPoll }
func (machine) Float64() float64               { return rand.Float64() }

type timer struct{ t *time.Timer }

// soon makes a wait of nothing one nanosecond. A select on a timer that has expired already runs it
// by itself, and Go 1.26's race detector crashes where two goroutines of a synctest bubble do so at once.
func soon(d time.Duration) time.Duration { return max(d, 1) }

func (t timer) C() <-chan time.Time   { return t.t.C }
func (t timer) Reset(d time.Duration) { t.t.Reset(soon(d)) }
func (t timer) Stop()                 { t.t.Stop() }

// Line is a time axis that starts at zero when it is made and counts suspended time.
// Deadlines are plain durations on it, so that they can be compared and stored atomically.
type Line struct {
	clock Clock
	start time.Time
	slept time.Duration
}

// NewLine starts a line at the clock's present time.
func NewLine(c Clock) Line {
	return Line{clock: c, start: c.Now(), slept: c.Slept()}
}

// Now returns the time since the line was made, suspended time included.
func (l Line) Now() time.Duration {
	awake := l.clock.Now().Sub(l.start) // first, so that a suspension between the two readings counts
	slept := l.clock.Slept() - l.slept
	if slept.Abs() < time.Millisecond {
		slept = 0 // the error of reading two clocks, not sleep
	}
	return awake + slept
}
