// Package tenure runs background work across many instances of an application: leader election for
// singleton jobs, and even, minimal-move sharding of named workloads over the live instances. It owns the
// coordination logic and the contracts; the storage is whatever you already run.
//
// # Two ways in
//
// [Singleton] runs one piece of work on one process of all that call it. [Shard] spreads many named
// pieces over them. Both block until their context ends, and need a store and nothing else:
//
//	err := tenure.Singleton(ctx, store, "nightly-report", func(ctx context.Context, term *tenure.Term) error {
//		...
//	})
//
//	err := tenure.Shard(ctx, store, feeds, func(ctx context.Context, term *tenure.Term, feed string) error {
//		...
//	})
//
// Package runner and package coordinator are the same with every knob.
//
// # What work must do
//
// Return when term.Draining is closed, having finished what is in flight. Return at once when the
// context ends: the lease is lost, or the drain took too long. Pass term.Token along with every write to a
// system that can compare it, and have that system refuse a lower one than it has seen: a process
// that was suspended may wake up after its lease has passed on, and only the token tells.
//
// # The words
//
// A fleet is all instances, leases and statuses that belong together in one store. An instance is one
// running process. A workload is a named unit of work; its key is its identity. A session is an
// instance's promise, in the store, to be alive. A lease is exclusive ownership of one workload by one
// session, and its token only ever grows. A term is one stretch of ownership as the worker sees it. A
// drain is to finish what is in flight, take nothing new, and then let go. A handover moves a workload
// between two live instances; a failover moves it because its owner died. A plan says for every workload
// which instance should run it, and why it moves.
//
// # What is promised
//
//   - For each key at most one process is inside a term whose local deadline has not passed, as long as
//     the store keeps acknowledged writes and clock rates differ by less than Timing.Margin/LeaseTTL. Clock
//     offsets never matter.
//   - Per key the token only grows, for ever.
//   - Nothing is released under running work, and work whose lease cannot be renewed is cancelled
//     before anybody else can have the key, whatever the store is doing.
//   - The assignment is advice, the lease is safety: a stale or failing membership costs time only.
//
// # The packages
//
//   - instance: who a process is
//   - lease, registry, status: the three contracts of a store, and the engine that keeps leases alive
//   - assigner: which instance should run what; pure functions
//   - drain: the graceful stop, and its handler for a preStop hook
//   - runner: one workload, run by whoever holds its lease
//   - coordinator: many workloads, shared out over the fleet
//   - resolver: which instance owns a workload, and where it can be reached
//   - fencing: a resource behind HTTP refuses the requests of former owners
//   - memory: a store in memory, the specification in code
//   - storetest: the conformance suite for any store, yours included
//
// Stores for Redis and PostgreSQL are modules of their own under adapters, so that the core stays the
// standard library and golang.org/x.
//
// The contracts and engines have a second spelling here, so that either is found: LeaseManager is
// lease.Manager, InstanceRegistry is registry.Registry, WorkloadStatusStore is status.Store,
// LeasedWorkerRunner is runner.Runner, WorkloadCoordinator is coordinator.Coordinator.
package tenure
