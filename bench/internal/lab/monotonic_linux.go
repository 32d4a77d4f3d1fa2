package lab

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic is the machine's monotonic clock, which all of its processes share.
func Monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // it fails for wrong arguments alone
	}
	return time.Duration(t.Nano())
}
