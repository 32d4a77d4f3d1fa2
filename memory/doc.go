// Package memory is the in-memory store: every contract of Tenure in one type.
//
// It is the specification in code. Where a sentence of [lease.Manager], [registry.Registry] or
// [status.Store] leaves you in doubt, read the method here: one mutex, plain maps, the time package,
// and comments that say why. Package storetest holds every other store to the same behaviour.
//
// Use it for tests and for programs that run as a single process. It obeys virtual time inside
// a [testing/synctest] bubble, where a ten-second failover takes microseconds. It shares nothing
// between processes, so it elects no leader among them: use a Redis or Postgres store there.
//
// # How it works
//
// Leases hang off sessions. A lease record names its session and has no expiry of its own: it is
// held while its session lives. So a renewal writes one session, however many leases hang off it,
// and a crash, a close or a lapse frees them all in the same instant. A status hangs off its
// owner's life in the same way.
//
// Every life is half open: alive while now < expiry, over from that instant on. What is over is
// never seen again, whether it was cleared away or not.
//
// # Losing data
//
// A real store may lose its latest writes. [Store.Snapshot] and [Store.Restore] let a test do
// that to this one. With [Config.Incarnations] the store notices, begins a new incarnation and
// freezes grants for MaxTTL while living holders re-assert their leases by Verify; without it, it
// forgets silently, as an unguarded store would.
package memory
