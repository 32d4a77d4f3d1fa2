// Package resolver answers which instance owns a workload now, and where it can be reached, so that any
// instance of a fleet, or any program that shares its store, can route a request to the owner.
//
//	owners, err := resolver.New(store, resolver.Config{})
//	...
//	owner, err := owners.Resolve(ctx, "tenant-17")
//	// forward the request to owner.Instance.Address
//
// # Where the answers come from
//
// The owner of a key is what its status record says (package status), and its address is what the owner
// told the registry of itself (instance.Instance.Address). Coordinators publish both. One read of the
// statuses serves all keys that were asked for of late, and costs the same whether the fleet has a hundred
// workloads or a hundred thousand.
//
// Work that publishes no status, such as tenure.Singleton, is found in the list of leases instead:
// [Config.Leases]. That is the store's own truth at one moment, and reads all leases of the fleet each time.
//
// # How old an answer may be
//
// While the store answers, the store was asked at most [Config.MaxAge] before [Resolver.Resolve] was called. While it
// does not, answers are served from memory until they are [Config.MaxStale] old; then Resolve answers
// ErrUnavailable. Owner.Age says how old one is. Where [Resolver.Run] follows the store's hints, or whoever hears of
// them calls [Resolver.Hint], what a hint is about is asked anew at once. Hints may be lost, so they never extend anything.
//
// A status can be behind the lease by the time of one store call after a grant, and, where an owner has died, until
// its successor started or its record expired. The list of leases has no such lag.
//
// # What an answer is worth
//
// It is advice, as everything but the lease is: ownership may move between the answer and the request's
// arrival. So the instance that receives the request looks whether it holds the key (Coordinator.Held, Set.Held,
// Runner.Lease, Term.Valid) and answers 421 Misdirected Request where it does not. The one that sent it calls
// [Resolver.Stale] and resolves again. Writes that must not come from a former owner carry the token besides;
// package fencing does that for HTTP.
//
// # Cost
//
// Nothing is read while nobody asks. Otherwise at most one status read and one membership read per MaxAge and process,
// for all keys together, besides what hints, unowned keys and Stale cause; one read is under way at a time.
package resolver
