// Package long says whether tests may take their time. By default the core's tests are over in
// seconds, with the race detector; TENURE_LONG=1 makes them try more: larger fleets, more random runs.
package long

import "os"

// Tests reports whether the environment asks for the long run.
func Tests() bool { return os.Getenv("TENURE_LONG") == "1" }

// Or returns long where the environment asks for the long run, and short elsewhere.
func Or[T any](long, short T) T {
	if Tests() {
		return long
	}
	return short
}
