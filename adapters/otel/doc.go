// Package tenureotel shows what Tenure does to OpenTelemetry: as metrics and as traces.
//
// [Metrics] and [Traces] are observers of the engines. List them with every engine of the fleet in this process, and with
// its drain.Drainer:
//
//	meters, err := tenureotel.NewMetrics(tenureotel.MetricsConfig{})
//	...
//	traces := tenureotel.NewTraces(tenureotel.TracesConfig{})
//	c, err := coordinator.New(store, catalogue, work, coordinator.Config{Observers: []any{meters, traces}})
//
// # Metrics
//
// The names are those of package metrics. Exported to Prometheus they are the same as those of adapters/prometheus, so the
// dashboard and the rules of deploy/monitoring serve both.
//
// # Spans
//
// Spans are made when their events come, with the times at which they happened:
//
//	tenure.renew             one renewal, or the opening of a session
//	tenure.acquire           from when nobody was known to hold a key until it was granted here
//	tenure.handover          from the first sign of the end of a term until its key was let go
//	  tenure.handover.drain    its work finishes what is in flight
//	  tenure.handover.release  its end is published and its lease let go
//	tenure.drain             the drain of this instance, with an event for each step of its progress
//
// A handover has no common trace with the term that follows elsewhere: nothing of the kind is carried by a store. The
// attributes tenure.key and tenure.token join them.
package tenureotel
