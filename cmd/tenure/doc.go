// Command tenure operates fleets from a shell: it runs any program as a leased singleton, shows who owns what, drains,
// revokes, sets stores up, and tells whether a server keeps the promises that Tenure builds on.
//
//	tenure run --store redis://127.0.0.1:6379/0 --key nightly -- ./report.sh
//	tenure status --watch
//	tenure help
//
// The guide is docs/cli.md. Exit statuses: 0 done, 1 the answer is no, 2 bad input and nothing was changed, 3 the store
// cannot be reached or used, 4 timed out. "tenure run" passes the status of its command on.
package main
