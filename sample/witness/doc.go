// Package witness judges a fleet from outside: was a workload ever owned twice?
//
// The witness keeps a ledger. Every worker appends to it about twenty times a second, and reports the
// start and the end of each of its terms. The witness believes no pod about who owns what; it looks at
// two things only.
//
// # Tokens
//
// A write whose token is lower than one already seen for its workload is refused, whoever sends it.
// This is fencing, as any guarded resource should do it: a process that was stopped between "am I still
// the owner?" and the write that followed cannot do harm, however long it was stopped. Such writes are
// counted (staleRefused) and are no fault of the fleet.
//
// # Proven time
//
// Each write and report carries a stamp: a reading of the machine's monotonic clock, which all processes
// share, taken *before* the worker asked its term whether it was valid. So at some instant not before
// the stamp, the owner really held its term. A term is valid without a gap from its grant to its end;
// hence it was valid from the first to the last of its stamps at least. That is its proven time.
//
// Split brain is when
//
//   - the proven times of two terms of one workload intersect: two processes were, at one instant, both
//     sure to be the owner, and no handover lay between; or
//   - two pods act under one token; or
//   - a pod acts under a term after the moment at which it reported that term's worker as returned.
//
// A refused write is evidence all the same: its stamp counts. A pod that was paused or starved proves
// nothing for the time in which it could not run, so a late but correct process is never accused, and
// no grace period has to be guessed. What twenty stamps a second cannot show is an overlap that begins
// after the older owner's last stamp and ends before its next one.
package witness
