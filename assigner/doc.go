// Package assigner decides which instance should try to run which workload.
//
// An [Assigner] is a pure function from an [Input] (workloads, instances, who owns what now, a
// policy) to a [Plan]: the full map, every move with its reason, what could not be placed and why,
// and a digest of everything that was looked at. It has no clock, no randomness, no I/O and no
// memory, so a plan can be computed anywhere, compared, explained, and tried out before anything
// moves. A plan is advice: the lease decides who may run. A wrong or late plan costs time, never
// exclusiveness.
//
// # Which one
//
//	Sticky      the default: loads within one of each other, and exactly the fewest moves
//	Weighted    the same idea for workloads of different weight
//	Rendezvous  needs no owners: everyone computes it alone; balance like random throws
//	Partition   hash(key) modulo a fixed number, and the partitions given out as Sticky does
//	Balanced    contiguous slices of the sorted keys; predictable, and moves far more than it must
//	Primary     everything on one instance
//
// All are small structs whose zero value works. They are planned from an [Input] with Plan or,
// where a large fleet is planned again and again, from an [Index] with PlanIndex.
//
// Sticky, Weighted and Partition look at Input.Owners, so all who plan must see the same owners;
// usually one planner plans for the fleet and hands the result to the others through [Targets].
// Rendezvous, Balanced and Primary (without Rollout) depend on the instances alone.
//
// # Who may get what
//
// An instance whose [Phase] is [Active] keeps what it has and gets its share. A [Draining] one
// gets nothing and loses everything at once. The phases between are held: such an instance keeps
// what it has and gets something new only where no active instance may run it, so nothing is left
// lying while anybody could run it. Workload.Requires restricts a workload to instances by their
// labels; Workload.Pin names the one that should have it while it can.
//
// # Few moves
//
// A join must move something and a leave must move what the leaver had. Let n workloads be spread
// over m instances, let C be how many of them each instance has now, and q = n/m. No plan within
// one moves fewer than the orphans plus, over all instances, max(0, C - quota), where the quotas
// are q, and q+1 for the n mod m instances that have most. [Sticky] meets that with equality, every
// time. With capacities, labels and pins "within one" becomes the least sum of load²/capacity, and
// it still moves the fewest that any such plan can.
//
// A rolling update has to move every workload once. While instances of several versions are
// present, healthy workloads stay, and those of a draining instance go to the newest version, up
// to an even share each. Where a new instance is up before an old one drains (surge), every
// workload then moves exactly once; sorted slices move it once per instance, and a hash modulo the
// number of instances about twice per instance.
//
// # What the caller decides
//
// Everything that depends on time comes in as data, in [Policy]: whether the membership has settled
// (Freeze), whether a loss of many members at once is to be waited out (Hold), how many workloads may
// be levelled now (Budget), and which moved lately (CoolDown).
//
// # Determinism
//
// The order of the input's slices does not matter, duplicate or malformed keys and IDs are errors,
// ties are broken by ID or by hash, and nothing is computed in floating point. [Hash] and [Score]
// are wire format: every instance of a fleet must compute the same numbers, so they never change.
//
// # Questions
//
// [Explain] says why a workload is where it is, who would be next, and why others are out of the
// question. [WhatIf] plans a drain, newcomers or other weights without making them. [Verify] checks
// the plan of an assigner of your own, and [Assemble] helps to write one.
package assigner
