package witness

import (
	"math"
	"slices"
	"time"
)

// stats are the figures of a run.
type stats struct {
	writes, stale, split, moves int
	handovers, failovers        []time.Duration
	closed                      bool // the run has ended: moves are not counted any more
}

// Summary is the verdict on a run.
type Summary struct {
	Event     string `json:"event"`
	Pods      int    `json:"pods"`
	Workloads int    `json:"workloads"`
	// Writes were accepted, StaleRefused were not.
	Writes       int `json:"writes"`
	StaleRefused int `json:"staleRefused"`
	// SplitBrain counts the pairs of terms that prove a double owner; see the package documentation.
	SplitBrain int `json:"splitBrain"`
	// Unowned is how many workloads nobody worked on when the run ended.
	Unowned int `json:"unowned"`
	// Handovers took from the old worker's return to the new one's start.
	Handovers     int     `json:"handovers"`
	HandoverP50Ms float64 `json:"handoverP50Ms"`
	HandoverP99Ms float64 `json:"handoverP99Ms"`
	// Failovers took from the kill of the owner to the next start.
	Failovers     int     `json:"failovers"`
	FailoverMaxMs float64 `json:"failoverMaxMs"`
	// MovesPerWorkload is how often a workload moved in a rollout, on average; nil without one.
	MovesPerWorkload *float64 `json:"movesPerWorkload,omitempty"`
}

// Good reports whether no workload ever had two owners and none was without one at the end.
func (s Summary) Good() bool { return s.SplitBrain == 0 && s.Unowned == 0 }

// Close ends the run: what is unowned now is unowned, and moves from now on are not counted.
func (w *Witness) Close() (unowned []string) {
	unowned = w.Unowned()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.closed = true
	return unowned
}

// Summary returns the figures so far. Pods counts the processes that ever joined.
func (w *Witness) Summary() Summary {
	unowned := len(w.Unowned())
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Summary{
		Event: "summary", Workloads: len(w.catalogue), Unowned: unowned,
		Writes: w.stats.writes, StaleRefused: w.stats.stale, SplitBrain: w.stats.split,
		Handovers: len(w.stats.handovers), Failovers: len(w.stats.failovers),
		HandoverP50Ms: percentile(w.stats.handovers, 50), HandoverP99Ms: percentile(w.stats.handovers, 99),
		FailoverMaxMs: percentile(w.stats.failovers, 100),
	}
	for _, p := range w.pods {
		if p.joined {
			s.Pods++
		}
	}
	return s
}

// SplitBrain returns how many double owners were proven so far.
func (w *Witness) SplitBrain() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats.split
}

// Moves returns how often a workload of the catalogue has begun on another pod than before.
func (w *Witness) Moves() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats.moves
}

// percentile is the nearest-rank percentile in milliseconds with three decimals; 0 for no values.
func percentile(values []time.Duration, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := max(int(math.Ceil(p/100*float64(len(sorted)))), 1)
	return math.Round(float64(sorted[rank-1])/float64(time.Microsecond)) / 1000
}
