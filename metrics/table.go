package metrics

import (
	"slices"
	"strings"
)

// Kind says how a metric behaves.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"   // only grows
	Gauge     Kind = "gauge"     // read when asked for
	Histogram Kind = "histogram" // a distribution
)

// Metric describes one metric.
type Metric struct {
	// Name in the manner of OpenTelemetry, such as "tenure.plan.moves".
	Name string
	Kind Kind
	// Unit is "s" for seconds, or a word in braces for what is counted.
	Unit string
	// Labels in the order in which values are given to a Sink.
	Labels []Label
	// Buckets are the upper bounds of a histogram, ascending.
	Buckets []float64
	// Help is one sentence.
	Help string
}

// Label is one label of a metric.
type Label struct {
	Name string
	// Values are all that there are; nil for the key of a workload.
	Values []string
}

// Prometheus returns the name that the metric has there: with underscores, the unit, and _total for
// counters, as the translation of OpenTelemetry's specification makes it.
func (m Metric) Prometheus() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	if m.Kind == Counter {
		name += "_total"
	}
	return name
}

// Keyed reports whether the metric has a series for each workload.
func (m Metric) Keyed() bool {
	return slices.ContainsFunc(m.Labels, func(l Label) bool { return l.Values == nil })
}

// Series calls yield with every combination of label values, so that counters can begin at 0; not at all for a
// keyed metric.
func (m Metric) Series(yield func(labels []string)) {
	if m.Keyed() {
		return
	}
	at := make([]string, len(m.Labels))
	var rest func(i int)
	rest = func(i int) {
		if i == len(m.Labels) {
			yield(slices.Clone(at))
			return
		}
		for _, v := range m.Labels[i].Values {
			at[i] = v
			rest(i + 1)
		}
	}
	rest(0)
}

// All returns every metric, ordered by what it is about.
func All() []Metric {
	return slices.Concat(leases(), storeCalls(), workloads(), moving(), fleetWide(), draining())
}

// seconds are bounds for durations from a fast store's call to a slow drain.
func seconds() []float64 {
	return []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300}
}

func leases() []Metric {
	key := []Label{{Name: "key"}}
	return []Metric{
		{Name: isLeader, Kind: Gauge, Unit: "{term}", Labels: key,
			Help: "1 while this process holds the key and its deadline has not passed, 0 while it contends for it."},
		{Name: termToken, Kind: Gauge, Unit: "{token}", Labels: key,
			Help: "The fencing token of the present term; absent between terms."},
		{Name: termStart, Kind: Gauge, Unit: "s", Labels: key,
			Help: "When the present term began, in Unix time; absent between terms."},
		{Name: keysUnlisted, Kind: Gauge, Unit: "{key}",
			Help: "Keys of this process that have no series of their own, because there are more than the configured limit."},
		{Name: held, Kind: Gauge, Unit: "{lease}",
			Help: "Leases that this process holds and whose deadline has not passed."},
		{Name: sessionLeft, Kind: Gauge, Unit: "s",
			Help: "How long the terms of this process last without another renewal; absent while it holds nothing."},
		{Name: termsStarted, Kind: Counter, Unit: "{term}", Labels: []Label{{"cause", []string{handover, failover, other}}},
			Help: "Terms that began here: after the owner before let go, after it lapsed, or with no owner before in sight."},
		{Name: termsEnded, Kind: Counter, Unit: "{term}", Labels: []Label{{"reason", reasons()}},
			Help: "Terms that ended here: let go of (released), or lost for the reason."},
		{Name: renewMargin, Kind: Histogram, Unit: "{ratio}", Buckets: []float64{0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 1},
			Help: "What a session had left when the answer to its renewal came, as a part of LeaseTTL - Margin: at 0 its terms would have ended."},
	}
}

func storeCalls() []Metric {
	op := Label{"op", []string{"OpenSession", "Renew", "Acquire", "Verify", "Release", "CloseSession", "Heartbeat", "PutStatus", other}}
	return []Metric{
		{Name: calls, Kind: Counter, Unit: "{call}", Labels: []Label{op, {"outcome", []string{"done", "refused", "unknown"}}},
			Help: "Calls to the store by outcome: done, refused (nothing was done), or unknown (no usable answer in time)."},
		{Name: callDuration, Kind: Histogram, Unit: "s", Labels: []Label{op}, Buckets: seconds(),
			Help: "How long calls to the store took, failed ones included; op=\"Renew\" is the renew latency."},
		{Name: incarnation, Kind: Gauge, Unit: "{incarnation}",
			Help: "The store's incarnation; a change says that it lost data. Absent before the first answer."},
	}
}

func workloads() []Metric {
	return []Metric{
		{Name: byState, Kind: Gauge, Unit: "{workload}", Labels: []Label{{"state", []string{"standby", "active", "draining", "lost"}}},
			Help: "Workloads of this process by state."},
		{Name: stuck, Kind: Gauge, Unit: "{workload}",
			Help: "Workers that have ignored their cancellation for HardStop; their keys are kept from everybody."},
		{Name: workEnded, Kind: Counter, Unit: "{term}",
			Labels: []Label{{"end", []string{"returned", "failed", "panicked", "lost", "stopped", "stepped_down", other}}},
			Help:   "Terms whose work has returned, by how it came to its end."},
		{Name: workForced, Kind: Counter, Unit: "{term}",
			Help: "Terms whose work was cancelled at the drain timeout."},
	}
}

func moving() []Metric {
	return []Metric{
		{Name: handoverDuration, Kind: Histogram, Unit: "s", Buckets: seconds(),
			Labels: []Label{{"phase", []string{"drain", "release", "wait", "acquire", "start"}}},
			Help: "Phases of moving a workload between live instances. Where it leaves: drain (asked to finish, until the work returned), release (until the key was let go). " +
				"Where it arrives: wait (planned, until it may be tried), acquire (free, until granted), start (until the work runs)."},
		{Name: failoverDuration, Kind: Histogram, Unit: "s", Buckets: seconds(), Labels: []Label{{"phase", []string{"wait", "acquire", "start"}}},
			Help: "Phases of taking over from an owner that is gone: wait (planned here, until it may be tried), acquire (lapsed, until granted), start (until the work runs)."},
		{Name: unownedDuration, Kind: Histogram, Unit: "s", Buckets: seconds(), Labels: []Label{{"cause", []string{handover, failover}}},
			Help: "How long nobody was known to hold a workload before its work runs here. A dead owner's lease counts as held until it lapses."},
	}
}

func fleetWide() []Metric {
	return []Metric{
		{Name: members, Kind: Gauge, Unit: "{instance}", Labels: []Label{{"state", []string{"active", "inactive"}}},
			Help: "Instances of the fleet as this one knows them: active, or draining and leaving (inactive)."},
		{Name: catalogue, Kind: Gauge, Unit: "{workload}", Help: "Workloads of the fleet, as the newest plan here knows them; absent where another instance plans."},
		{Name: catalogueHeld, Kind: Gauge, Unit: "{workload}", Help: "Workloads of the fleet that this process holds: the sum over all instances should be the catalogue."},
		{Name: assigned, Kind: Gauge, Unit: "{workload}", Help: "Workloads of the fleet that this instance has taken on and not ended: held, contended for or winding down."},
		{Name: unplaceable, Kind: Gauge, Unit: "{workload}", Help: "Workloads that the newest plan could place on no instance; absent where another instance plans."},
		{Name: holding, Kind: Gauge, Unit: "{planner}", Help: "1 while the fleet's planner places nothing (a mass loss, a cold start), else 0; absent where another instance plans."},
		{Name: decisions, Kind: Counter, Unit: "{decision}", Labels: []Label{{"kind", []string{"elected", "resigned", "superseded", "wrote", "holding", "placing",
			"frozen", "levelling", "deferring", "rewriting", "obeyed", other}}},
			Help: "What the fleet's planner decided here, and (obeyed) how often this instance was given another set of targets."},
		{Name: plans, Kind: Counter, Unit: "{plan}", Labels: []Label{{"outcome", []string{"done", "failed"}}},
			Help: "Plans that were made here, or could not be made."},
		{Name: planDuration, Kind: Histogram, Unit: "s", Buckets: seconds(), Help: "How long planning took, the reading of the owners included."},
		{Name: planMoves, Kind: Counter, Unit: "{workload}", Labels: []Label{{"reason", []string{"orphan", "evict", "rollout", "pin", "level", other}}},
			Help: "Workloads whose planned instance changed, by reason. Whoever plans counts all of them: where everyone does, take the largest, not the sum."},
		{Name: planMinimum, Kind: Counter, Unit: "{workload}",
			Help: "The fewest workloads whose instance had to change to give every instance its share, summed over the changes of the fleet."},
	}
}

func draining() []Metric {
	return []Metric{
		{Name: drainBegun, Kind: Gauge, Unit: "{instance}", Help: "1 once a drain of this instance has begun, 0 before."},
		{Name: drainElapsed, Kind: Gauge, Unit: "s", Help: "How long the drain has taken so far, or took; 0 before."},
		{Name: drainRunning, Kind: Gauge, Unit: "{workload}", Help: "Workloads that a drain of this instance still waits for; 0 where none has begun."},
	}
}
