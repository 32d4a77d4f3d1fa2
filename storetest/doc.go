// Package storetest is the conformance suite for stores: run it on yours before you trust it.
//
// A store is whatever keeps Tenure's three contracts, [lease.Manager], [registry.Registry] and
// [status.Store]. [Run] tries some hundred sentences of those contracts on it, each in a subtest
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
// # What a backend must offer
//
// A store can be built on anything that offers these; without one of them it cannot be built:
//
//   - An atomic compare-and-set that spans session, token and expiry: a script, a transaction, or
//     one conditional statement. Deciding that a key is free, and taking it, is one step.
//   - A clock of its own, read inside that step. Where there is none, a revision that changes with
//     every write: an observer may then call a session over once it has seen no change for a full
//     TTL of its own monotonic clock.
//   - Reads that see every write acknowledged before. A replica that lags is not asked.
//   - A number per key that survives the release, or a clock in it: see tokens in lease.Manager.
//   - A mark that tells whether data was lost, where that can happen at all.
//
// # How to read a failure
//
// The letter of a check says what it is about: O ownership, T tokens, X expiry, B batches, I
// instances, S statuses, K keys, C contexts and lost replies, Z life cycle, W hints, R revocation, N
// incarnations, P the long random run. Random checks print what they draw from a seed, which
// Config.Seed repeats. Where many clients race, every call is logged with the time it was
// made and the time it returned, and the log is tried against the rules afterwards: tokens only rise,
// two holders never overlap, nothing ended comes back.
//
// No check asserts that something happened within a time that a slow machine could exceed: what must
// not happen before a moment is tested against the earliest moment that a client can prove, and what
// must have happened by then gets a [Config.Unit] of slack.
//
// # What is optional
//
// Capabilities such as lease.Lister are found by assertion, and faults are functions in
// [Faults]. Checks that need what a store lacks are skipped and listed at the end, so that a
// green run also says what it did not try.
package storetest
