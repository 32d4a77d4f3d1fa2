// Package filestore is a store in one file: the processes of one machine coordinate with nothing else
// installed. It is a worked example of a store of one's own; docs/guides/own-store.md walks through it.
//
//	err := filestore.Create("/var/lib/app/fleet.json") // once, by whoever sets the fleet up
//	store, err := filestore.Open("/var/lib/app/fleet.json")
//
// The whole of a store is an atomic step over what it knows: here update, which locks the file, reads it, lets a
// function change it, and writes it back. Everything else, leases.go, members.go and statuses.go, is the contracts in
// terms of that step. On a database it would be a transaction, on etcd a compare-and-swap of one key.
//
// # Limits
//
// Every call reads and writes all of it, so it is for hundreds of workloads, not for a hundred thousand. It gives no hints:
// handovers wait for a tick. It never loses what it acknowledged, since it syncs the file, so it has one incarnation
// for ever; where the file is gone it answers nothing, instead of beginning anew. A file on a network file system
// is only as good as its locks.
package filestore
