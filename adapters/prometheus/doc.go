// Package tenureprom shows what Tenure measures to Prometheus.
//
// A [Collector] listens to the engines and is registered like any other:
//
//	metrics, err := tenureprom.New(tenureprom.Config{})
//	...
//	registry.MustRegister(metrics)
//	c, err := coordinator.New(store, catalogue, work, coordinator.Config{Observers: []any{metrics}})
//
// The same collector is listed with every engine of the fleet in this process, and with its drain.Drainer. The
// repository's docs/observability.md lists every metric; deploy/monitoring has a dashboard for Grafana and alerting rules.
//
// Counters begin at 0 for every value of their labels, so that the first event of a kind is seen by rate and increase.
// Gauges are computed by each scrape.
package tenureprom
