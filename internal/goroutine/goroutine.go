// Package goroutine counts goroutines for tests that say how many something costs.
package goroutine

import (
	"runtime"
	"testing/synctest"
	"time"
)

// Count returns how many goroutines stay. One that has returned may be counted for a moment still, as those of store
// calls are all the time, so it is the least of several looks. Call it in a synctest bubble: it lets ten seconds pass there.
func Count() int {
	least := runtime.NumGoroutine()
	for range 10 {
		time.Sleep(time.Second)
		synctest.Wait()
		for range 1000 {
			runtime.Gosched()
			least = min(least, runtime.NumGoroutine())
		}
	}
	return least
}
