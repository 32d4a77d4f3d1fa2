package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// clockName says what now measures.
const clockName = "CPU time of the planning thread"

// now is the CPU time of this thread: what a plan costs, also on a machine that does other things
// at the same time. The garbage collector's own threads are not in it.
func now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // it fails for wrong arguments alone
	}
	return time.Duration(t.Nano())
}
