// Package faults hurts real fleets and watches. Its tests start processes that share workloads through
// a private Redis or PostgreSQL server, break the processes, the server or the network between them,
// and ask a witness with a clock of its own what became of it.
//
// Every worker writes to the witness about fifty times a second, with its token and with how long it
// believes its term to last. The witness refuses a token that is older than one it has seen, and
// counts: terms; overlaps, where a term began while another still believed in its own; writes that it
// refused as stale; and the longest time that a workload was without a writer. A run prints one row
// for each fault.
//
// The whole table takes minutes and is run by "make faults"; what CI runs of it takes less than one.
package faults
