package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleepPoll is as on Linux.
const sleepPoll = 50 * time.Millisecond

// slept compares the clock that goes on while the machine sleeps with the one that Go's monotonic clock is made
// of, which does not.
func slept() time.Duration {
	return apart(func() int64 { return reading(unix.CLOCK_UPTIME_RAW) }, func() int64 { return reading(unix.CLOCK_MONOTONIC_RAW) })
}
