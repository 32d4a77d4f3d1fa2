// Package runner runs work on at most one process of a fleet at a time.
//
// A [Runner] (tenure.LeasedWorkerRunner) does it for one workload, such as a nightly job; a [Set]
// does it for any number of them over one session. Both are one blocking call:
//
//	r, err := runner.New(store, instance.Process(), runner.Spec{Key: "nightly", Work: nightly}, runner.Config{})
//	...
//	err = r.Run(ctx) // until ctx ends
//
// The work is a function of a context and a [Term]. It runs while this process holds the lease of
// its key, and nowhere else meanwhile. Another process takes over when it has returned and let go,
// or, if this process died, when its lease has expired.
//
// # Life of a workload
//
//	          granted           drain begins, or the work returned
//	Standby -----------> Active ----------------------------------> Draining
//	   ^                   |                                         |    |
//	   |                   | lease lost                   lease lost |    |
//	   |     let go        v                                         |    |
//	   |<---------------- Lost <-------------------------------------'    |
//	   |                                                     let go       |
//	   '<-----------------------------------------------------------------'
//
// What is let go becomes Stopped instead of Standby where the work is finished, has failed under
// Never, or was stopped. A workload that was stopped on Standby is Stopped at once.
//
// A workload that is waiting (for the key, for the end of a backoff, after a step-down) is Standby.
// Every term ends in one order: the state flips, the work is told to drain or is cancelled, it is
// waited for while its lease is still renewed, the status Inactive is written, the lease is
// released, and then observers are told.
//
// # What it guarantees
//
//   - Work of one key runs in one process at a time, from before its first instruction until it has
//     returned, as long as it returns when its context ends. A lease is never released under a
//     running worker.
//   - The context ends before anybody else can be granted the key: at the time of the last
//     successful renewal's sending + LeaseTTL - Margin, whatever the store is doing then.
//   - The worker's context does not end with Run's: stopping is graceful, and no different for a
//     shutdown, a reassignment or a step-down.
//   - A stop that lands while the key is being acquired starts nothing.
//   - One workload's error, panic or hang touches no other's. No error of a store ends Run.
//   - Run returns: at the latest DrainTimeout + HardStop, and one or two bounded store calls, after
//     its context ended.
//   - Observers, log handlers and OnStuck may block without delaying anything.
//
// It does not guarantee that work runs exactly once. A process that was paused may execute a few
// more instructions after its term; pass [Term.Token] with every write that matters, so that the
// written resource can refuse the older of two. Nor does it remember finished work: that is
// between the work and its data.
//
// # When things go wrong
//
//	what                          the work sees                        then
//	store does not answer         nothing, until the local deadline:   contends again
//	                              context ends, lease.ErrLost
//	lease taken, expired, revoked context ends, lease.ErrLost          contends again; revoked: after a step-down's wait
//	Run's context ends, Stop      term.Draining closes; after          released, forgotten
//	                              DrainTimeout context ends, drain.ErrTimeout
//	StepDown                      the same                             contends when another was seen, or after LeaseTTL
//	work returns an error         -                                    released; again after Backoff (Never: stopped)
//	work panics                   recovered with its stack             as an error
//	work ignores its context      -                                    after HardStop: OnStuck; the key stays here
//	status store fails or hangs   nothing                              retried; a release waits one call at most
//	process dies                  -                                    others wait out the TTL
//
// # Cost
//
// A set has a constant number of goroutines, plus one per workload whose work runs: the work's
// own. It has one timer. In steady state it makes one renewal per interval and, with a status store,
// one status write, however many workloads it holds.
//
// Log lines carry the attributes key, name and token; those about ends also end, ran, error, stack
// and retryIn.
package runner
