//go:build race

package race

// Enabled reports whether the race detector is in this build. Tests that count allocations need to know.
const Enabled = true
