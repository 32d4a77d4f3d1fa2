// Package sim runs whole fleets in virtual time while everything goes wrong, and watches.
//
// It consists of tests. One run is a schedule in a synctest bubble: a few instances, each a real
// coordinator with its runners and a real singleton runner, share one memory store through a bad network. The
// schedule is made from a seed; it can be written down, replayed and shrunk.
//
//	go test ./internal/sim -seeds 5000 -first-seed 1     # a long run
//	go test ./internal/sim -replay "$(cat schedule.json)" # one schedule, as a failure prints it
//
// # What goes wrong
//
//   - The network delays and loses requests and answers, delivers a request twice, also long after its
//     sender gave up, loses the answer of a call that was done, refuses, hangs whatever the context says,
//     and parts an instance from one contract or all. Hints are lost, doubled and late.
//   - An instance crashes, is stopped, drained, replaced by a newer version, paused (SIGSTOP: its clock goes on),
//     suspended (its monotonic clock stands still as well), and its clock runs fast or slow by up to Margin/LeaseTTL.
//   - The store loses everything, or its latest writes, or exactly the grant whose answer is on its way, and
//     finds that again later. The registry answers with views that do not list their reader.
//   - Work fails, panics, is slow to finish, and ignores its cancellation. The catalogue changes, leases are
//     revoked, leaders step down.
//
// # What is watched
//
// The promises S1 to S9 of the design, by observers that do not believe the engines. A model beside each
// instance reads the calls and answers that cross its network and says until when each lease may be trusted; another,
// beside the store, says who may be granted what. Workers report what they see. At the end all faults
// are lifted: within a bound every workload must run, on one instance, evenly spread, and stay there;
// and after all have stopped in good order nothing may be held and nobody a member.
//
// # What replays
//
// Every decision of the network and of the workers comes from a hash of the seed and of what it is about
// (the third Renew of the instance b1), not from a shared source of random numbers. So one difference does
// not shift all others. Instants are spread by nanoseconds, so that hardly two things happen at the same one. What the bubble
// does not decide is Go's: the order of goroutines that are ready together, of a select, and of a map. A seed may
// therefore run a little differently from time to time; TestReplay counts how many do, and a failure is
// tried several times. Under the race detector the scheduler is random on purpose.
package sim
