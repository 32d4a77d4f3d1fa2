// Package history records what concurrent clients of a lease store asked and were answered, and
// checks that the store could have answered so had it done one call after another: that the history is
// linearizable (with porcupine) against a small sequential model of the lease contract.
//
//	r := history.NewRecorder()
//	a, b := r.Client(store), r.Client(store) // a lease.Manager each, for one goroutine each
//	...
//	verdict := r.Check(time.Minute)
//
// # The model
//
// Its state is, per session, the span of time in which its expiry lies and whether it is known to be
// over; and per key, which session holds it and the last token. Nobody sees a session lapse. What is known is
// that a renewal which left at c and was answered at r ends between c + TTL and r + TTL. So an answer that needs
// the session to be over is legal if it came back after the first of these, and makes it over for
// good; one that needs it alive is legal if its call left before the second. An answer that never came, or that said
// lease.ErrUnavailable, stands for a call that may take effect at any later time or never.
//
// A history must therefore be recorded on one monotonic clock whose rate is the store's. Stores that lose
// data, and revocations, are not modelled.
//
// A history that cannot be explained is written as porcupine's HTML page: which calls overlapped, and
// how far an explanation came.
package history
