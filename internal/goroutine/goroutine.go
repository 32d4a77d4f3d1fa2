// Package goroutine counts goroutines for tests that say how many something costs.
package goroutine

import (
	"runtime"
	"time"
)

// Count returns how many goroutines stay. One that has returned may be counted for a moment still, as those of store
// calls are all the time, so it is the least of several looks. Pass lets virtual time pass, and all that was due then happen.
func Count(pass func(time.Duration)) int {
	least := runtime.NumGoroutine()
	for range 10 {
		pass(time.Second)
		for range 1000 {
			runtime.Gosched()
			least = min(least, runtime.NumGoroutine())
		}
	}
	return least
}
