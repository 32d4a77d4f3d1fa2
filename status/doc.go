// Package status is the contract for publishing what state each workload is in.
//
// A record says who ran a workload last, under which token, and whether it is running, being
// wound down or stopped. Coordinators read it to avoid starting what is still winding down
// elsewhere, and people read it to see who owns what. It decides nothing about ownership: the
// lease does.
//
// A record lives as long as its owner keeps extending, and one call extends all of an owner's
// records, so the steady cost does not grow with the number of workloads. Writes are guarded by
// the term's token: a slow old owner cannot hide its successor's state.
package status
