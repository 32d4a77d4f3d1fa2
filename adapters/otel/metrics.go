package tenureotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tenure-go/tenure/metrics"
)

// scope names this library to providers.
const scope = "github.com/tenure-go/tenure/adapters/otel"

// MetricsConfig holds what is optional. The zero value is the documented defaults.
type MetricsConfig struct {
	// Provider makes the meter; nil means OpenTelemetry's global one.
	Provider metric.MeterProvider
	// Attributes are on every measurement, such as the fleet in a process that belongs to two.
	Attributes []attribute.KeyValue
	// MostKeys is for how many workloads there are series of their own; default 1000, negative for none. See metrics.Config.
	MostKeys int
}

// Metrics is an observer of the engines that measures. It is safe for concurrent use. Make one with NewMetrics.
type Metrics struct {
	*metrics.Observer
	registration metric.Registration
}

// NewMetrics returns an observer whose gauges are read by the provider's readers until Close. The error is the provider's,
// where it refuses an instrument.
func NewMetrics(cfg MetricsConfig) (*Metrics, error) {
	if cfg.Provider == nil {
		cfg.Provider = otel.GetMeterProvider()
	}
	s := &sink{
		labels: map[string][]string{}, own: cfg.Attributes,
		counters: map[string]metric.Float64Counter{}, histograms: map[string]metric.Float64Histogram{}, gauges: map[string]metric.Float64ObservableGauge{},
	}
	meter := cfg.Provider.Meter(scope)
	var all []metric.Observable
	var errs []error
	for _, m := range metrics.All() {
		g, err := s.instrument(meter, m)
		errs = append(errs, err)
		if g != nil {
			all = append(all, g)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("tenureotel: instruments: %w", err)
	}
	o, err := metrics.New(s, metrics.Config{MostKeys: cfg.MostKeys})
	if err != nil {
		return nil, err
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		o.Gauges(func(name string, value float64, labels ...string) {
			to.ObserveFloat64(s.gauges[name], value, s.attributes(name, labels))
		})
		return nil
	}, all...)
	if err != nil {
		return nil, fmt.Errorf("tenureotel: gauges: %w", err)
	}
	return &Metrics{Observer: o, registration: registration}, nil
}

// Close ends the reading of the gauges. Counters and histograms stay with the provider.
func (m *Metrics) Close() error { return m.registration.Unregister() }

// sink hands measurements to instruments.
type sink struct {
	labels     map[string][]string // names of the labels of each metric
	own        []attribute.KeyValue
	counters   map[string]metric.Float64Counter
	histograms map[string]metric.Float64Histogram
	gauges     map[string]metric.Float64ObservableGauge
}

// instrument makes the instrument of a metric, and returns it where it is a gauge.
func (s *sink) instrument(meter metric.Meter, m metrics.Metric) (g metric.Float64ObservableGauge, err error) {
	for _, l := range m.Labels {
		s.labels[m.Name] = append(s.labels[m.Name], l.Name)
	}
	help, unit := metric.WithDescription(m.Help), metric.WithUnit(m.Unit)
	switch m.Kind {
	case metrics.Gauge:
		g, err = meter.Float64ObservableGauge(m.Name, help, unit)
		s.gauges[m.Name] = g
	case metrics.Histogram:
		s.histograms[m.Name], err = meter.Float64Histogram(m.Name, help, unit, metric.WithExplicitBucketBoundaries(m.Buckets...))
	case metrics.Counter:
		s.counters[m.Name], err = meter.Float64Counter(m.Name, help, unit)
		if err == nil {
			m.Series(func(labels []string) { s.Add(m.Name, 0, labels...) }) // the first event is then a change
		}
	}
	return g, err
}

func (s *sink) attributes(name string, labels []string) metric.MeasurementOption {
	all := make([]attribute.KeyValue, 0, len(labels)+len(s.own))
	for i, v := range labels {
		all = append(all, attribute.String(s.labels[name][i], v))
	}
	return metric.WithAttributes(append(all, s.own...)...)
}

// Add implements metrics.Sink.
func (s *sink) Add(name string, n float64, labels ...string) {
	s.counters[name].Add(context.Background(), n, s.attributes(name, labels))
}

// Record implements metrics.Sink.
func (s *sink) Record(name string, value float64, labels ...string) {
	s.histograms[name].Record(context.Background(), value, s.attributes(name, labels))
}
