package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleepPoll bounds how late a deadline that passed during suspension is acted on after the resume.
const sleepPoll = 50 * time.Millisecond

// slept is CLOCK_BOOTTIME minus CLOCK_MONOTONIC: the first counts suspended time, the second does not.
// The two are read one after the other; the error is far below any margin.
func slept() time.Duration {
	var boot, mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return 0
	}
	// Below a millisecond it is the distance between the two readings, not sleep.
	return time.Duration(boot.Nano() - mono.Nano()).Truncate(time.Millisecond)
}
