//go:build race

package main

// testTTL is long under the race detector, which makes the embedded store ten times as slow.
const testTTL = "6s"
