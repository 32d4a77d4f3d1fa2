// Package health answers the two questions that a platform asks of a process: is it alive, and is it ready.
//
//	h, err := health.New(health.Config{}, health.Coordinator(c))
//	...
//	mux.Handle("/livez", h.Livez())
//	mux.Handle("/readyz", h.Readyz())
//
// Both are plain handlers for a mux of your own, and [Health.Live] and [Health.Ready] are plain functions for
// a health framework of your own. Checks of your own join in by Config.LiveChecks and Config.ReadyChecks.
//
// # Alive
//
// /livez fails when a restart is the remedy, and only then: a loop of the engines that does not turn any more
// (the wedge detector), or an engine that does not even answer what it is doing. A loop turns as long as it tries: a store
// that is down makes its calls fail, not its loop stand still, and restarting every process of a fleet because its store
// is away would help nobody. What stands still is given Config.Grace first. A worker that ignores its
// cancellation is reported, and fails the check only under Config.FailOnStuck: it blocks one key, while a restart
// ends the healthy work of the process as well.
//
// # Ready
//
// /readyz says yes once every coordinator has joined its fleet, and no again when its Run was told to stop. Whether the
// process holds anything does not matter: followers are ready too, or a deployment that waits for its new
// instances to become ready would wait for ever. Nor does a store that goes away later: then all processes of a
// fleet would stop to serve at the same moment.
//
// A drain alone changes nothing: work that moves away says nothing about the requests that the process still
// serves, and a rollout in good order should wake nobody. Where it should, set Config.UnreadyOnDrain.
//
// # Answers
//
// The status is 200 or 503. The body has a line for each check, such as "ok coordinator" or "failed
// coordinator: …", or JSON ([Report]) for "Accept: application/json". Causes name instances and workloads: serve
// it where the rest of your internal pages is.
package health
