package witness

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now reads the machine's monotonic clock. It is one clock for all processes, it never steps, and
// it goes on while a process is stopped.
func Now() Stamp {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has this clock
	}
	return Stamp(time.Duration(t.Nano()))
}
