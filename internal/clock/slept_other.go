//go:build !linux

package clock

import "time"

const sleepPoll = 0

// slept is zero where the system has no second clock to compare with: on macOS and Windows Go's
// monotonic clock already counts, or its behaviour is the system's own.
func slept() time.Duration { return 0 }
