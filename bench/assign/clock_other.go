//go:build !linux

package main

import "time"

// clockName says what now measures.
const clockName = "elapsed time"

var start = time.Now()

// now is the time since this program began.
func now() time.Duration { return time.Since(start) }
