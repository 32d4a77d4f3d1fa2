// Package tenure runs background work across many instances of an application: leader election for
// singleton jobs, and even, minimal-move sharding of named workloads over the live instances. It owns the
// coordination logic and the contracts; the storage is whatever you already run.
//
// # The words
//
// A fleet is all instances, leases and statuses that belong together in one store. An instance is one
// running process. A workload is a named unit of work; its key is its identity. A session is an
// instance's promise, in the store, to be alive. A lease is exclusive ownership of one workload by one
// session, and its token only ever grows. A term is one stretch of ownership as the worker sees it.
//
// # The packages
//
//   - instance: who a process is
//   - lease, registry, status: the three contracts of a store, and the engine that keeps leases alive
//   - assigner: which instance should run what; pure functions
//   - drain: the graceful stop
//   - runner: one workload, run by whoever holds its lease
//   - coordinator: many workloads, shared out over the fleet
//   - memory: a store in memory, the specification in code
//   - storetest: the conformance suite for any store, yours included
//
// Stores for Redis and PostgreSQL are modules of their own under adapters, so that the core stays the
// standard library and golang.org/x.
package tenure
