// Package redisstore keeps a fleet in Redis: leases, membership, statuses and hints.
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
//	store, err := redisstore.New(client, redisstore.Config{Fleet: "billing"})
//
// One [Store] implements lease.Manager, registry.Registry and status.Store, and the optional
// capabilities lease.Lister, lease.Watcher, lease.Revoker, lease.Provisioner and assigner.Targets. It is
// made for Redis 6.2 and newer and forks with the same commands: a single server, Sentinel, and Cluster, over RESP2 and RESP3.
//
// # How it works
//
// Every operation is one Lua script, which Redis runs as one atomic step. A script reads the server's
// clock once, works on the keys that it is given and on no others, and may be sent twice without doing
// anything twice. At most 500 keys go through one script; longer calls are cut into parts, which
// count only if all were answered in the same incarnation.
//
// Leases hang off sessions, so [Store.Renew] reads and writes one small record, whether the session
// holds one lease or ten thousand. No key has a Redis TTL: expiry is a number inside a record, compared
// with the server's clock, so that neither an eviction policy for expiring keys nor a slow expiry cycle
// decides who owns what. What is over is cleared away in small steps by later calls.
//
//	{<prefix>:<fleet>}:marker      hash: schema version, incarnation, fingerprint, counts, token floor
//	{<prefix>:<fleet>}:sessions    hash: session -> expiry, opening, revision
//	{<prefix>:<fleet>}:leases      hash: key -> token, grant, incarnation, revocation, session, owner
//	{<prefix>:<fleet>}:members     hash: instance -> join time, marks, description
//	{<prefix>:<fleet>}:lives       sorted set: instance -> expiry
//	{<prefix>:<fleet>}:generation  string: the generation of the membership
//	{<prefix>:<fleet>}:statuses    hash: key -> token, state, owner, text
//	{<prefix>:<fleet>}:owners      hash: owner of statuses -> expiry
//	{<prefix>:<fleet>}:targets     hash: the head of the plan, its history, instance -> keys
//	{<prefix>:<fleet>}:hints       channel
//
// The braces are a hash tag: in a cluster a fleet lives on one shard. Ten thousand leases are little for
// one; a fleet that outgrows it is split into several by name.
//
// # When the server loses data
//
// Redis may forget acknowledged writes: it was restarted without its latest data, a lagging replica was
// promoted, a record was evicted or deleted by hand. Every lease script therefore compares the fleet's
// marker with the server (run_id and master_replid from INFO) and with the number of records. Where they
// differ, a new incarnation begins: for MaxTTL nothing new is granted, while living holders prove what
// they hold by Verify. Nothing has two owners, and nobody who is alive loses anything. Where INFO is not
// allowed, the marker and the counts alone tell; [Store.Check] then says so.
//
// A fleet's very first start waits out the same time unless it was set up with [Store.Provision]. That is
// an act of whoever sets it up, never of a process at its start.
//
// # What Redis does not give
//
// A master that is cut off from its replicas goes on granting while one of them is promoted. Only
// min-replicas-to-write with a max lag below the fail-over time stops it; Check looks for it. Replication is
// asynchronous: Config.MinReplicas makes Acquire wait for it, which narrows the window and does not
// close it. A resource that must never see two owners has to compare fencing tokens, which grow through all
// of this: token = max(previous + 1, server time in µs).
//
// Multi-master set-ups (active-active, active replica) break the promise and cannot be detected. docs/redis.md
// in the repository says which server settings to choose, and what happens in which fault.
//
// # Calls and their outcomes
//
// A call returns when its context ends, whatever the client is doing, with lease.ErrUnavailable: go-redis
// does not watch a context while it waits for a reply. What a server receives after its sender gave up is
// refused by the script where it would grant something. LOADING, BUSY, TRYAGAIN, CLUSTERDOWN, OOM,
// NOREPLICAS, a full connection pool and a broken connection are all lease.ErrUnavailable; READONLY is
// lease.ErrReadOnlyStore. The driver's error is always inside.
package redisstore
