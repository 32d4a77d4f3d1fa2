package tenureprom

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/metrics"
)

// Config holds what is optional. The zero value is the documented defaults.
type Config struct {
	// Labels are on every series, such as {"fleet": "billing"} in a process that belongs to two fleets.
	Labels prometheus.Labels
	// MostKeys is for how many workloads there are series of their own; default 1000, negative for none. See metrics.Config.
	MostKeys int
	// Buckets replaces the upper bounds of histograms, by the name that the metric has in Prometheus.
	Buckets map[string][]float64
	// NativeHistograms adds native histograms with buckets that grow by a tenth, for servers that scrape them.
	NativeHistograms bool
}

// Collector is an observer of the engines and a prometheus.Collector. It is safe for concurrent use. Make one with New.
type Collector struct {
	*metrics.Observer
	series series
	gauges map[string]*prometheus.Desc
}

// New returns a collector that is not registered yet. Errors match lease.ErrInvalid and name the field.
func New(cfg Config) (*Collector, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	c := &Collector{series: series{counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{}}, gauges: map[string]*prometheus.Desc{}}
	for _, m := range metrics.All() {
		c.add(m, cfg)
	}
	var err error
	c.Observer, err = metrics.New(c.series, metrics.Config{MostKeys: cfg.MostKeys})
	return c, err
}

// check refuses what the client library would panic at.
func (cfg Config) check() error {
	own := map[string]bool{"le": true, "quantile": true}
	histograms := map[string]bool{}
	for _, m := range metrics.All() {
		for _, l := range m.Labels {
			own[l.Name] = true
		}
		histograms[m.Prometheus()] = m.Kind == metrics.Histogram
	}
	for name, value := range cfg.Labels {
		if err := registrable(name, value); err != nil || own[name] {
			return invalid(fmt.Sprintf("Labels[%q]", name), value, "must be a label name and value that Prometheus accepts, and the name none of the metrics' own")
		}
	}
	for name, bounds := range cfg.Buckets {
		if !histograms[name] {
			return invalid("Buckets", name, "is no histogram of Tenure; docs/observability.md lists them")
		}
		if len(bounds) == 0 || !slices.IsSortedFunc(bounds, ascending) {
			return invalid(fmt.Sprintf("Buckets[%q]", name), bounds, "must be at least one bound, each above the one before")
		}
	}
	return nil
}

// ascending makes equal neighbours count as unsorted.
func ascending(a, b float64) int {
	if a > b {
		return 1
	}
	return -1
}

// registrable tries whether the client library accepts a constant label.
func registrable(name, value string) error {
	return prometheus.NewRegistry().Register(prometheus.NewGauge(prometheus.GaugeOpts{Name: "x", Help: "x", ConstLabels: prometheus.Labels{name: value}}))
}

func invalid(field string, value any, remedy string) error {
	return &lease.InvalidError{Field: "tenureprom.Config." + field, Value: fmt.Sprint(value), Remedy: remedy}
}

// add makes the family of one metric, and all of its series that can be known beforehand.
func (c *Collector) add(m metrics.Metric, cfg Config) {
	names := make([]string, len(m.Labels))
	for i, l := range m.Labels {
		names[i] = l.Name
	}
	name := m.Prometheus()
	switch m.Kind {
	case metrics.Gauge:
		c.gauges[m.Name] = prometheus.NewDesc(name, m.Help, names, maps.Clone(cfg.Labels))
	case metrics.Counter:
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: m.Help, ConstLabels: cfg.Labels}, names)
		m.Series(func(labels []string) { v.WithLabelValues(labels...) })
		c.series.counters[m.Name] = v
	case metrics.Histogram:
		opts := prometheus.HistogramOpts{Name: name, Help: m.Help, ConstLabels: cfg.Labels, Buckets: m.Buckets}
		if own := cfg.Buckets[name]; own != nil {
			opts.Buckets = own
		}
		if cfg.NativeHistograms {
			opts.NativeHistogramBucketFactor = 1.1
			opts.NativeHistogramMaxBucketNumber = 160
		}
		v := prometheus.NewHistogramVec(opts, names)
		m.Series(func(labels []string) { v.WithLabelValues(labels...) })
		c.series.histograms[m.Name] = v
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, v := range c.series.counters {
		v.Describe(to)
	}
	for _, v := range c.series.histograms {
		v.Describe(to)
	}
	for _, d := range c.gauges {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, v := range c.series.counters {
		v.Collect(to)
	}
	for _, v := range c.series.histograms {
		v.Collect(to)
	}
	c.Gauges(func(name string, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(c.gauges[name], prometheus.GaugeValue, value, labels...)
	})
}

// series is the sink.
type series struct {
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
}

// Add implements metrics.Sink.
func (s series) Add(name string, n float64, labels ...string) {
	s.counters[name].WithLabelValues(labels...).Add(n)
}

// Record implements metrics.Sink.
func (s series) Record(name string, value float64, labels ...string) {
	s.histograms[name].WithLabelValues(labels...).Observe(value)
}
