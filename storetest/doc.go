// Package storetest is the conformance suite for stores: run it on yours before you trust it.
//
// A store is whatever keeps Tenure's three contracts, [lease.Manager], [registry.Registry] and
// [status.Store]. [Run] tries more than a hundred sentences of those contracts on it, each in a subtest
// that is named after the sentence and quotes it when it is broken:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Config{
//			Open: func(t *testing.T) (a, b storetest.Store) {
//				fleet := freshName(t) // nothing of it exists yet
//				return dial(t, fleet), dial(t, fleet)
//			},
//		})
//	}
//
// One check runs alone as any subtest does: go test -run TestConformance/O07.
//
// # What a backend must offer
//
// A store can be built on anything that offers these; without one of them it cannot be built:
//
//   - An atomic compare-and-set that spans session, token and expiry: a script, a transaction, or
//     one conditional statement. Deciding that a key is free, and taking it, is one step, and so is
//     finding a session alive and extending it.
//   - A clock of its own, read inside that step. Where there is none, a revision that changes with
//     every write: an observer may then call a session over once it has seen no change for a full
//     TTL of its own monotonic clock.
//   - Reads that see every write acknowledged before. A replica that lags is not asked.
//   - A number per key that survives its release, or one for all keys, never reset; together with the
//     clock it makes the token, see [lease.Manager].
//   - A mark that tells whether data was lost, where that can happen at all.
//
// Give Open what a real fleet would have: two clients, each with connections of its own. If you can
// hurt the backing (stop it, cut it off, empty it, bring an old copy back), say so in [Faults]: most
// stores that are wrong are wrong only then.
//
// # How to read a failure
//
// The letter of a check says what it is about: O ownership, T tokens, X expiry, B batches, I
// instances, S statuses, A targets of the assignment, K keys, C contexts and lost replies, Z life cycle, W hints, R revocation, N
// incarnations, P the long random run. Random checks draw from a seed that is printed and
// that Config.Seed repeats. Where many clients race, every call is logged with the time it was
// made and the time it returned, and the log is tried against the rules afterwards: tokens only rise,
// two holders never overlap, nothing that ended comes back. Such a failure shows the operations that
// contradict each other.
//
// # Time
//
// No check asserts that something happened within a time that a slow machine could exceed: what must
// not happen before a moment is tested against the earliest moment that a client can prove, and what
// must have happened by then gets a [Config.Unit] of slack. Where a session ran out only because the
// check itself was slow, the check starts again on a fresh fleet, a few times. If it says
// that the machine is too slow, raise Unit, and MaxTTL with it.
//
// In real time most of a check is waiting, so several run beside each other ([Config.Lanes]). A store
// that needs no real network should run in virtual time ([Config.Bubble]): that takes a second or two, and
// makes the boundary of an expiry exact to the nanosecond.
//
// # What is optional
//
// Capabilities such as [lease.Lister] are found by assertion, and faults are functions in
// [Faults]. Checks that need what a store lacks are skipped and listed at the end, so that a
// green run also says what it did not try. With -short, checks that wait for long are skipped in real time.
//
// Stores that are only a lock (lease.PerKey lifts them) name Sessions, Registry, Status and Lapses in
// [Config.Without], and run what is left.
package storetest
