// Package soak runs the sample for a long time under random chaos on every store, and watches what must not grow.
//
// Three fleets run side by side: on the embedded store, on a private Redis and on a private PostgreSQL. Pods are
// killed, paused, drained, started and stopped, and the stores that can be wiped are wiped, while the sample's witness
// looks for double owners: the first one ends the run. Every few seconds the memory, goroutines and open files of all
// processes, and the size and connections of the stores, are read; a run of five minutes and more fails where the last
// fifth of it shows more than the second one did, apart from noise.
//
// "make soak" runs it for SOAK=30m. What CI runs of it takes a quarter of a minute.
package soak
