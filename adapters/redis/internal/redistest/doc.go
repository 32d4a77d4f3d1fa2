// Package redistest starts private Redis servers for tests, and proxies that hurt the connections to them.
//
// Every server listens on a free port of 127.0.0.1, keeps its files in the test's own directory, and is
// ended by its process id when the test ends.
package redistest
