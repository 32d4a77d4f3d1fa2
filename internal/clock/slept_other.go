//go:build !linux && !darwin

package clock

import "time"

const sleepPoll = 0

// slept is zero: on Windows Go's monotonic clock counts sleep by itself. On other systems whether it does is up to
// the system; where it does not, a machine that slept through a deadline trusts its leases for as long as it slept
// too long, and only tokens keep its writes apart from those of the next owner.
func slept() time.Duration { return 0 }
