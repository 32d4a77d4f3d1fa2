// Package postgresstore keeps leases, membership, statuses and plans in PostgreSQL 13 or later, with
// fencing that the database enforces.
//
// A [Store] is one fleet's handle. It implements [lease.Manager] (with Lister, Revoker, Provisioner
// and Watcher), [registry.Registry], [status.Store] and [assigner.Targets]:
//
//	store, err := postgresstore.New(pool, "orders", postgresstore.Config{}) // or Open, or NewSQL
//	err = store.Migrate(ctx)   // once per deployment; safe from every process at once
//	err = store.Provision(ctx) // once per fleet, by whoever sets it up
//
// What a lost leader writes late can be stopped by the database itself: call [Store.Fence] in the
// transaction that writes, or let [Store.FencedFunc] do it. Such a transaction commits while its lease
// is held, or not at all.
//
// The guide in docs/postgres.md has rights, connections, poolers, replication and operation.
//
// # Messages
//
// Each call is one message to the server: its statements between BEGIN ISOLATION LEVEL READ
// COMMITTED and COMMIT, pipelined, with arguments and results as text. Nothing depends on the
// session: no prepared statement, no SET, no advisory lock that outlives a transaction, no startup
// parameter. So it works through a transaction pooler, and under any default isolation, time zone,
// date style, interval style and search_path. Every expiry is judged by clock_timestamp() when a row is
// looked at: now() would stand still for as long as a transaction waits.
//
// Each call may be sent twice, and is: where a connection broke or the server rolled back, it is
// sent again within the same deadline. What is still unknown then is lease.ErrUnavailable.
//
// # Sessions and leases
//
// A session is a row with an expiry, and a lease row names its session. A renewal updates the one
// session row, whose expiry is in no index: a HOT update, whatever hangs off the session.
//
// A lapse is one row as well: whoever wants a key whose session has expired marks that session as
// lapsed, under the row's lock and with the condition checked again. A mark is never taken back in
// the incarnation that it was made in, and a renewal requires a row without it. So of a late
// renewal and a takeover one wins, and the other sees it.
//
// A key is free where its row names no session, names one that is seen to be lapsed, counts in an
// earlier incarnation, or was revoked long enough ago. That a session row is absent frees nothing.
// READ COMMITTED looks again at a lease row that changed while its lock was waited for, but still
// sees the sessions as they were when the statement began: a session opened since would be absent there, and
// its fresh lease would look free.
//
// # Why each lock is the one it is
//
// Locks are taken in one order everywhere: the fleet's marker, then sessions, then leases in the
// order of their keys. What a statement has locked it looks up by key.
//
//   - Renewal, opening, closing: UPDATE of the session row, a lock for no key update. It lets pass the KEY SHARE
//     that the foreign key takes when a grant names the session, so neither waits for the other.
//   - Lapse: FOR NO KEY UPDATE SKIP LOCKED on the session row. A locked one is being renewed, or lapsed
//     by another; either way there is nothing to wait for. It touches no lease row, so a locked lease row
//     delays no lapse.
//   - Grant: FOR UPDATE SKIP LOCKED on the lease rows. FOR UPDATE, because it is the lock that a fence's
//     KEY SHARE keeps out. SKIP LOCKED, so that one fenced key delays no other in the batch, and a
//     waiter queues nowhere: the key is reported as busy.
//   - Release and purge of a name: FOR NO KEY UPDATE on the lease rows. It passes the holder's own open fences: a
//     key may be let go while its last guarded write is still committing, and the next grant waits for that one.
//   - Fence: FOR KEY SHARE on the lease row, the weakest lock. The holder's renewal, verification,
//     release and revocation pass it; a grant does not, nor does any other change of the token, since the
//     token is a column of a plain unique index on (fleet, key, token) and so part of a key.
//     A partial index would not do.
//   - The foreign key from lease to session has no ON DELETE action: with SET NULL, a release and a
//     lapse, or a grant and a lapse, waited for each other crosswise, and one locked lease row held up the lapse of a
//     thousand others. Here it only keeps a session from being purged while a grant in flight names it.
//   - Targets: the row of the plan's head first, by the upsert that a newer head refuses, then the rows of
//     targets. Whoever writes targets holds the head, so nobody else is at them; deletion and upsert are
//     statements of their own, since parts of one statement would not see what was committed while it
//     waited for the head. No other kind of row is locked in that transaction.
//   - The marker is locked only while grants are frozen: re-assertions take it FOR SHARE, and the end
//     of the freeze is an UPDATE of it. So the first grant after a freeze sees every re-assertion.
//
// # Incarnations
//
// The marker carries a fingerprint of the server: the system identifier, the timeline and the
// start of the postmaster. Another fingerprint, or no marker, begins a new incarnation: the server
// was restarted (perhaps from an older copy of its files), a standby was promoted (perhaps without the last
// writes), or the data is gone. Grants are then frozen for Config.MaxTTL, while living holders renew and
// verify what they hold, and lose nothing.
//
// The timeline is read from the name of the current WAL file: the control file shows the old one until the
// checkpoint after a promotion is done.
//
// # Hints
//
// [Store.Watch] listens on a connection of its own. NOTIFY is sent behind the commit of a release or close
// that freed something, a revocation, join, leave or drain, or a plan, never for a renewal or a heartbeat: NOTIFY takes a lock
// that all committing transactions of the database share.
package postgresstore
