// Package registry is the contract for knowing which instances are alive.
//
// Each instance heartbeats; its record expires by the store's clock when it stops. The
// membership is advice: it decides which instance should try to run a workload, while the lease
// decides which one may. A stale, empty or failing registry costs time, never exclusiveness,
// and never stops a running workload.
//
// A heartbeat costs the same whether the fleet has three members or a thousand: the answer is
// "unchanged" unless someone joined, left, expired or began to drain since the caller's last
// [Generation]. [View.NextExpiry] tells when the earliest of the others would expire, so that a
// coordinator notices a death at that moment rather than at its next regular tick.
//
// Draining is a deliberate act: the library marks nobody. The mark belongs to one start of one
// process and dies with it. An instance whose Run was told to stop beats as Leaving instead.
package registry
