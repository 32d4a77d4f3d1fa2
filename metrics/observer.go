package metrics

import (
	"slices"
	"sync"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// Sink is what a metrics library does with measurements. Values of labels come in the order of
// Metric.Labels. It is called from the engines' observer goroutines and must be safe for concurrent use.
type Sink interface {
	// Add adds to a counter.
	Add(name string, n float64, labels ...string)
	// Record adds a value to a histogram.
	Record(name string, value float64, labels ...string)
}

// Config holds what is optional. The zero value is the documented defaults.
type Config struct {
	// MostKeys is for how many keys there are series of their own, in alphabetical order; default 1000, negative
	// for none. The others are counted in all that has no key, and by tenure.keys.unlisted.
	MostKeys int
}

// DefaultMostKeys is how many keys have series of their own unless configured otherwise.
const DefaultMostKeys = 1000

// Observer turns the events of the engines of one fleet in this process into measurements. List it in the Observers
// of every engine and of the drain.Drainer. Make one with New; it is safe for concurrent use.
type Observer struct {
	sink  Sink
	most  int
	known map[string][]Label

	mu       sync.Mutex // guards what follows; the sink is never called under it
	tracks   map[string]*track
	sessions map[string]*session
	inc      uint64
	seen     bool // an incarnation
	stuck    map[string]struct{}
	fleet    fleet
	drain    drain.Progress
}

// All that an observer listens to.
var (
	_ lease.RenewObserver            = (*Observer)(nil)
	_ lease.TermObserver             = (*Observer)(nil)
	_ lease.CallObserver             = (*Observer)(nil)
	_ runner.StateObserver           = (*Observer)(nil)
	_ runner.WorkObserver            = (*Observer)(nil)
	_ runner.StuckObserver           = (*Observer)(nil)
	_ runner.StatusObserver          = (*Observer)(nil)
	_ coordinator.BeatObserver       = (*Observer)(nil)
	_ coordinator.PlanObserver       = (*Observer)(nil)
	_ coordinator.PlannerObserver    = (*Observer)(nil)
	_ coordinator.AssignmentObserver = (*Observer)(nil)
	_ drain.Observer                 = (*Observer)(nil)
)

// New returns an observer that measures into sink. The error matches lease.ErrInvalid.
func New(sink Sink, cfg Config) (*Observer, error) {
	if sink == nil {
		return nil, fault.Invalid("metrics sink", "nil", "pass one, such as those of adapters/prometheus and adapters/otel")
	}
	if cfg.MostKeys == 0 {
		cfg.MostKeys = DefaultMostKeys
	}
	o := &Observer{
		sink: sink, most: max(cfg.MostKeys, 0), known: map[string][]Label{},
		tracks: map[string]*track{}, sessions: map[string]*session{}, stuck: map[string]struct{}{},
		fleet: fleet{coming: map[string]*arrival{}, ours: map[string]struct{}{}},
	}
	for _, m := range All() {
		o.known[m.Name] = m.Labels
	}
	return o, nil
}

// add counts one.
func (o *Observer) add(name string, labels ...string) { o.addN(name, 1, labels...) }

func (o *Observer) addN(name string, n float64, labels ...string) {
	o.sink.Add(name, n, o.closed(name, labels)...)
}

func (o *Observer) record(name string, v float64, labels ...string) {
	o.sink.Record(name, max(v, 0), o.closed(name, labels)...)
}

// closed replaces values that are not in their label's set, so that no store and no assigner of a user's can make
// series without end.
func (o *Observer) closed(name string, labels []string) []string {
	for i, l := range o.known[name] {
		if !slices.Contains(l.Values, labels[i]) {
			labels[i] = other
		}
	}
	return labels
}
