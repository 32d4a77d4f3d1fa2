// Package drain is the graceful stop: finish what is in flight, take nothing new, then let go.
//
// A worker meets a drain as a signal: runner.Term.Draining is closed, and a [Drainable] is asked,
// the moment it begins. Leases are renewed meanwhile, so nobody takes the work from under a worker
// that is finishing. Only when the drain timeout has passed is the worker's context cancelled, with
// cause [ErrTimeout].
//
// An operator meets a drain as a deliberate act: nothing in Tenure marks an instance as draining of its
// own accord. A [Drainer] does it: it marks this instance in the store, so that the whole fleet
// takes over its workloads, and waits until nothing runs here any more. A mark that cannot be
// written still drains this instance. There is no way back; the mark dies with the process.
//
// # Kubernetes
//
// [Drainer.Handler] serves a preStop hook. Kubernetes calls the hook, waits for its answer, and only
// then sends SIGTERM; so when the process is told to stop, its workloads run elsewhere already.
// The hook sends GET, which must not change anything on a mux that others can reach; serve it on a
// port of its own and say so with [HandlerConfig.Internal]:
//
//	lifecycle:
//	  preStop:
//	    httpGet: {path: /drain, port: internal}
//	terminationGracePeriodSeconds: 75 # above Config.Timeout, with time left for the stop itself
//
// Where a port of its own is too much, let the hook run a command that sends POST with the
// token of [HandlerConfig.Token].
//
// The grace period covers the hook and the stop together. Keep Config.Timeout below it and above the
// workers' DrainTimeout + HardStop, or the hook's answer comes when nobody listens any more.
//
// # Readiness
//
// A drain does not touch the readiness of the process: a workload that moves away says nothing about
// the requests that the process still serves. Where it should, watch [Drainer.Draining].
package drain
