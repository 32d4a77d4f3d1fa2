//go:build !linux

package lab

import "time"

// Monotonic is a clock that all of the machine's processes share.
func Monotonic() time.Duration { return time.Duration(time.Now().UnixNano()) }
