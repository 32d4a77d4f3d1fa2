// Package suite runs the conformance suite of package storetest outside of "go test": against a server that a user names,
// in fleets that nobody else sees.
//
// The suite is written for package testing, which is made to be the main function of a process: it has flags of its own, ends
// the process and reports on standard output. So it gets a process of its own. [Run] starts this program again
// with [Argument], tells it on standard input what to test (a password has no place in arguments), and reads what
// it reports while it goes on; [Main] is the other side and uses testing.Main, which is kept for programs that simulate
// "go test". A check that panics or hangs ends that process alone, and what it made is removed by the first.
package suite
