// Package goroutine counts goroutines for tests that say how many something costs.
package goroutine

import (
	"bytes"
	"runtime"
	"time"
)

// Count returns how many goroutines of the caller's synctest bubble stay. Those of store calls come and go, so it is the
// least of several looks. Pass lets virtual time pass, and all that was due then happen.
//
// Each look stops the world and counts the stacks: runtime.NumGoroutine counts a goroutine that has ended for as long as the
// scheduler has not filed its record away, and knows nothing of bubbles.
func Count(pass func(time.Duration)) int {
	least := count()
	for range 10 {
		pass(time.Second)
		least = min(least, count())
	}
	return least
}

// count reads the stacks of all goroutines, each of which begins with a line such as
// "goroutine 7 [select (durable), synctest bubble 3]:". The caller's comes first.
func count() int {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	head, _, _ := bytes.Cut(buf, []byte("\n"))
	_, bubble, in := bytes.Cut(head, []byte(", synctest bubble "))
	if !in {
		panic("goroutine.Count outside of a synctest bubble")
	}
	return bytes.Count(buf, append([]byte(", synctest bubble "), bubble...))
}
