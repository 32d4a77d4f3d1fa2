package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleepPoll bounds how late a deadline that passed during suspension is acted on after the resume.
const sleepPoll = 50 * time.Millisecond

// slept is CLOCK_BOOTTIME minus CLOCK_MONOTONIC: the first counts suspended time, the second does not.
func slept() time.Duration {
	return apart(func() int64 { return reading(unix.CLOCK_MONOTONIC) }, func() int64 { return reading(unix.CLOCK_BOOTTIME) })
}
