// Package instance says who a process is.
//
// An instance is one running process. Its [ID] proves ownership of sessions,
// leases and heartbeats, so it must be unique per start: a restart is a different
// instance, and a host name alone is never an identity (two containers on one host,
// or a pod restarted under its old name, would pass for each other).
//
// [Process] returns the identity of this process, fixed for its life, in the shape
// machine:pid:random. [New] makes a fresh one, for tests and for programs that run
// several instances in one process.
//
// [Instance] adds what a fleet wants to know about a process: where it runs, which
// rollout it belongs to, how much it can carry, and where it can be reached.
package instance
