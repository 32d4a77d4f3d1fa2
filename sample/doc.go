// Command sample runs a fleet of real processes on this machine and proves to its viewer that no
// workload ever had two owners.
//
// The parent process hosts the store (an embedded Redis look-alike unless -store names a server) and a
// witness, and starts pods: copies of itself, each of which shares a catalogue of workloads and one
// singleton job with the others, through the public API alone. Kill them, pause them, drain them; the
// witness counts.
//
// What to copy: pod.go and job.go are an application's main function and its work; port.go is its health and its
// metrics; store.go shows how a Redis client for coordination is made. The rest plays the data centre:
//
//	main, options, catalogue    the command line
//	run                         one run, from the first pod to the verdict
//	fleet, process_*            pods as operating-system processes
//	chaos, rollout              what happens to fleets
//	output, table, keys         what the viewer sees
//	page                        the fleet's page in a browser, served by the parent
//	witness/                    who judges, and how
package main
