//go:build !race

// Package race tells whether a build has the race detector.
package race

// Enabled reports whether the race detector is in this build. Tests that count allocations need to know.
const Enabled = false
