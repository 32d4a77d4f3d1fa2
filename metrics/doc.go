// Package metrics is what Tenure measures: the names, and how they follow from the events of the engines.
//
// It knows no metrics library. An [Observer] hears the events of the packages lease, runner, coordinator and drain,
// and hands counts and durations to a [Sink]; what stands still between events, such as whether this process leads, is
// read with [Observer.Gauges] when somebody asks. The modules adapters/prometheus and adapters/otel are such sinks
// for two libraries, with the same names in both: what a dashboard shows of the one it shows of the other.
//
// # What a gauge promises
//
// A gauge is computed when it is read, never remembered from the last change. A process that cannot reach its store
// reads as no leader from the local deadline on, even when nothing has happened since that could have told it so.
//
// # How many series there are
//
// Every label but one has a closed set of values, which [All] lists; what is not in it counts as "other". The exception
// is the key of a workload. Series with a key exist only while this process contends for the key or holds it, those of
// a term only during the term, and there are at most [Config].MostKeys of them.
//
// # One fleet
//
// An observer is for the engines of one fleet in one process, of which there may be several: a coordinator and some
// runners beside it. A process that belongs to two fleets uses two observers, told apart by a constant label.
package metrics
