package clock

import "time"

// apart returns how far a clock is ahead of a base, although the two cannot be read at one instant. A thread
// that was held up between two readings would take its own delay for sleep, and reckon a deadline from a time
// that had not come yet. So the base is read before and after, and again where the two are far apart.
func apart(base, clock func() int64) time.Duration {
	const near = 100 * time.Microsecond // far below any margin
	const tries = 100
	best, at := time.Duration(1<<62), time.Duration(0)
	for range tries {
		before := base()
		there := clock()
		after := base()
		if took := time.Duration(after - before); took < best {
			best, at = took, time.Duration(there-before)-took/2
		}
		if best <= near {
			break
		}
	}
	return at
}
