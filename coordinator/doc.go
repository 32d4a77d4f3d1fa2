// Package coordinator spreads a catalogue of named workloads over the live instances of a fleet,
// and runs this instance's share.
//
// Every instance makes a [Coordinator] with the same catalogue and the same assigner, and calls
// Run. There is no configuration of who does what, no instance is special, and the only thing that
// they share is a store:
//
//	c, err := coordinator.New(store, catalogue, work, coordinator.Config{})
//	...
//	err = c.Run(ctx)
//
// # What Run does
//
// Each heartbeat tells the fleet that this instance lives and answers who else does. When that, or
// the catalogue, has changed, a plan is made for the whole fleet, and every instance acts on its own
// part of it:
//
//	heartbeat -> plan -> drop what is not ours any more -> gate -> contend for the lease -> work
//
// The first heartbeat goes out at once, the next ones on a jittered interval, early after a hint of the
// store (somebody joined, left, drains, a lease was released), and at the moment when a silent member
// expires. Nothing in this chain waits for anything else: a hanging store call, a worker that
// takes half a minute to wind down, an assigner, an observer or a log handler that never returns
// hold up neither the heartbeat nor any other workload.
//
// # Advice and safety
//
// The plan is advice: it decides who should try to run a workload. The lease is safety: it decides who
// may. So instances whose views differ for a moment lose time, never exclusiveness, and:
//
//   - What has no owner is placed at once. Healthy workloads move only when the active members and
//     the catalogue have been unchanged for Config.Settle, and not while the store, having lost data,
//     grants nothing.
//   - An instance whose own heartbeats fail takes nothing new and stops nothing. A view of the fleet
//     that does not list its reader is ignored.
//   - A store that answers nothing at all costs each worker its lease at its local deadline, a margin
//     before anybody else could have it. Work resumes by itself when the store does.
//
// # Moving a workload
//
// A workload that is dropped, for whatever reason, is drained: its worker is told, may finish what
// is in flight for Timing.DrainTimeout while its lease is renewed, and only when it has returned
// is the lease released. Its status says Transferring meanwhile. The next owner sees that at the
// gate, one status read for all that it is about to start, and waits; the hint of the release lets
// it start at once. A workload that is given back while it winds down starts again here, after its
// old worker has returned.
//
// # Leaving and draining
//
// When Run's context ends it beats as leaving, so that the others take over what it lets go of,
// drains everything, and leaves when all workers have returned. That marks nobody as draining.
// [Coordinator.BeginDrain] does: it is the deliberate act of an operator or of a preStop hook, lasts for
// this process's life, and lets Run go on. A Coordinator is a subject for drain.Drainer.
//
// # Who plans
//
// With an assigner that looks at who owns what (Sticky, Weighted) and a store that carries targets
// (assigner.Targets), one instance plans for all. It is the planner as long as it holds the lease of the key
// "tenure:planner", which is like any other: it lapses with its holder, and a drain hands it over. The
// planner lists the leases, plans, and writes what each instance should run, its set of targets,
// under its fencing token; what a deposed planner writes is refused. Everyone obeys his own set, the
// planner too. A set that is not there says "unknown", not "nothing": such an instance keeps what it
// runs and takes nothing new. So a fleet without a planner goes on as it is, and the next planner, which
// inherits who was there and what moved lately, gives out what has lost its owner.
//
// The planner gives out what nobody has at once. What is healthy moves later, and only if need be: see
// [PlannerConfig] for the waits and limits, each of which has a default. [PlannerObserver], the log and
// [Snapshot] tell what was decided and why; [Coordinator.Explain] and [Coordinator.WhatIf] answer
// questions on any instance.
//
// In all other cases everyone plans for himself, and all come to the same plan since planning is a pure
// function. Sticky and Weighted then list the leases on every instance whenever it plans, and two that list
// them while a workload moves may disagree about its target for an interval; they list again until
// what they planned is what they see. Config.Planning chooses by hand.
//
// All instances of a fleet should have the same catalogue, but for the moments in which it changes. What the
// planner's catalogue lacks is planned by those who have it, as where everyone plans: so one program
// may run several coordinators with workloads of their own, and only one of them has a planner.
//
// # Cost
//
// While nothing changes, an instance makes four store calls per interval, one heartbeat, one renewal, one
// extension of its statuses and one verification of a rotating slice of its leases, whatever the
// number of workloads. The planner lists the leases every sixteenth interval besides, one other
// instance asks for the planner's lease once per TTL, and everybody reads his targets every
// thirty-second. An instance runs one goroutine per running workload and a constant number besides.
package coordinator
