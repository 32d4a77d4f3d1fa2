package tenureotel_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	tenureotel "github.com/tenure-go/tenure/adapters/otel"
	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/metrics"
	"github.com/tenure-go/tenure/runner"
)

// measured is a provider whose measurements come out of a Prometheus registry.
func measured(t *testing.T, cfg tenureotel.MetricsConfig) (*tenureotel.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Provider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	m, err := tenureotel.NewMetrics(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

// exposed returns every series, as name{label="value"}, with its value; histograms with their count.
func exposed(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	list, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range list {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				if !strings.HasPrefix(l.GetName(), "otel_") {
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			slices.Sort(labels)
			all[strings.TrimSpace(f.GetName()+" "+strings.Join(labels, " "))] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func lead(m *tenureotel.Metrics, key string, token uint64) {
	now := time.Now()
	m.ObserveState(runner.StateEvent{Key: key, To: runner.Standby, At: now})
	m.ObserveRenew(lease.RenewEvent{Session: "s", Opening: true, At: now, Of: time.Hour, Until: now.Add(time.Hour), Incarnation: 3})
	m.ObserveRenew(lease.RenewEvent{Session: "s", At: now, Left: time.Minute, Of: time.Hour, Until: now.Add(time.Hour), Incarnation: 3})
	m.ObserveTerm(lease.TermEvent{Kind: lease.TermGranted, At: now, Lease: lease.Lease{Key: key, Session: "s", Token: token}})
}

// What a dashboard shows of the one adapter it shows of the other.
func TestExportedToPrometheusTheNamesAreThoseOfTheTable(t *testing.T) {
	m, registry := measured(t, tenureotel.MetricsConfig{})
	lead(m, "nightly", 7)
	m.ObserveCall(lease.CallEvent{Op: "Renew"})
	m.ObserveTerm(lease.TermEvent{Kind: lease.TermGranted, Lease: lease.Lease{Key: "moved", Token: 3}, Before: lease.Before{Owner: "b"}})
	m.ObserveState(runner.StateEvent{Key: "moved", To: runner.Active, Token: 3, At: time.Now()})
	m.ObserveTerm(lease.TermEvent{Kind: lease.TermGranted, Lease: lease.Lease{Key: "fell", Token: 3}, Before: lease.Before{Owner: "b", Lapsed: true}})
	m.ObserveBeat(coordinator.BeatEvent{Members: 1, Active: 1})
	m.ObservePlanner(coordinator.PlannerEvent{Kind: coordinator.PlannerElected})
	m.ObservePlan(coordinator.PlanEvent{Instance: "a", Plan: assigner.Plan{}})
	names := map[string]bool{}
	for series := range exposed(t, registry) {
		name, _, _ := strings.Cut(series, " ")
		names[name] = true
	}
	for _, m := range metrics.All() {
		if !names[m.Prometheus()] {
			t.Errorf("%s is missing", m.Prometheus())
		}
		delete(names, m.Prometheus())
	}
	for name := range names {
		t.Errorf("%s is not in the table", name)
	}
}

func TestSeriesOfAnEndedTermDisappear(t *testing.T) {
	m, registry := measured(t, tenureotel.MetricsConfig{Attributes: []attribute.KeyValue{attribute.String("fleet", "billing")}})
	lead(m, "nightly", 7)
	all := exposed(t, registry)
	if all["tenure_is_leader fleet=billing key=nightly"] != 1 || all["tenure_term_token fleet=billing key=nightly"] != 7 || all["tenure_held fleet=billing"] != 1 {
		t.Errorf("%v", all)
	}
	if n, there := all["tenure_terms_ended_total fleet=billing reason=revoked"]; !there || n != 0 {
		t.Error("a counter does not begin at 0")
	}
	m.ObserveTerm(lease.TermEvent{Kind: lease.TermLost, Reason: lease.ReasonRevoked, Lease: lease.Lease{Key: "nightly", Session: "s", Token: 7}})
	all = exposed(t, registry)
	if _, there := all["tenure_term_token fleet=billing key=nightly"]; there || all["tenure_is_leader fleet=billing key=nightly"] != 0 ||
		all["tenure_terms_ended_total fleet=billing reason=revoked"] != 1 {
		t.Errorf("%v", all)
	}
	m.ObserveState(runner.StateEvent{Key: "nightly", To: runner.Stopped})
	if _, there := exposed(t, registry)["tenure_is_leader fleet=billing key=nightly"]; there {
		t.Error("a key that is gone has a series")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, there := exposed(t, registry)["tenure_held fleet=billing"]; there {
		t.Error("gauges are read after Close")
	}
}

// traced returns an observer and what becomes of its spans.
func traced(cfg tenureotel.TracesConfig) (*tenureotel.Traces, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	cfg.Provider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	return tenureotel.NewTraces(cfg), recorder
}

// named returns the ended spans of a name.
func named(r *tracetest.SpanRecorder, name string) (out []sdktrace.ReadOnlySpan) {
	for _, s := range r.Ended() {
		if s.Name() == name {
			out = append(out, s)
		}
	}
	return out
}

func took(s sdktrace.ReadOnlySpan) time.Duration { return s.EndTime().Sub(s.StartTime()) }

func attr(s sdktrace.ReadOnlySpan, name string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == name {
			return a.Value.String()
		}
	}
	return ""
}

func TestALifeInSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		traces, recorder := traced(tenureotel.TracesConfig{Attributes: []attribute.KeyValue{attribute.String("fleet", "billing")}})
		spec := runner.Spec{Key: "nightly", Name: "the report", Work: func(_ context.Context, term *runner.Term) error {
			<-term.Draining()
			time.Sleep(3 * time.Second)
			return nil
		}}
		r, err := runner.New(store, instance.New(), spec, runner.Config{Timing: lease.Timing{Jitter: -1}, Observers: []any{traces}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := drain.New(drain.Config{Observers: []any{traces}}, r)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- r.Run(t.Context()) }()
		time.Sleep(5 * time.Second)
		if err := d.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		acquire, handover := named(recorder, "tenure.acquire"), named(recorder, "tenure.handover")
		if len(acquire) != 1 || len(handover) != 1 {
			t.Fatalf("%d acquisitions, %d handovers", len(acquire), len(handover))
		}
		if s := handover[0]; took(s) != 3*time.Second || attr(s, "tenure.key") != "nightly" || attr(s, "tenure.name") != "the report" ||
			attr(s, "fleet") != "billing" || attr(s, "tenure.token") != attr(acquire[0], "tenure.token") || s.Status().Code == codes.Error {
			t.Errorf("handover of %v: %v", took(s), s.Attributes())
		}
		for name, want := range map[string]time.Duration{"tenure.handover.drain": 3 * time.Second, "tenure.handover.release": 0} {
			if s := named(recorder, name); len(s) != 1 || took(s[0]) != want || s[0].Parent().SpanID() != handover[0].SpanContext().SpanID() {
				t.Errorf("%s: %v", name, s)
			}
		}
		if s := named(recorder, "tenure.drain"); len(s) != 1 || took(s[0]) != 3*time.Second || len(s[0].Events()) < 2 || attr(s[0], "tenure.done") != "1" {
			t.Errorf("drain: %v", s)
		}
		if s := named(recorder, "tenure.renew"); len(s) < 3 || attr(s[0], "tenure.opening") != "true" || attr(s[1], "tenure.margin_left") != "7" {
			t.Errorf("%d renewals", len(s))
		}
	})
}

func TestQuickRenewalsMakeNoSpanUnlessTheyFail(t *testing.T) {
	traces, recorder := traced(tenureotel.TracesConfig{QuickRenewals: time.Second})
	at := time.Now()
	traces.ObserveRenew(lease.RenewEvent{At: at, Took: time.Millisecond})
	traces.ObserveRenew(lease.RenewEvent{At: at, Took: time.Second})
	traces.ObserveRenew(lease.RenewEvent{At: at, Took: time.Millisecond, Err: lease.ErrUnavailable})
	spans := named(recorder, "tenure.renew")
	if len(spans) != 2 || took(spans[0]) != time.Second || !spans[0].EndTime().Equal(at) || spans[1].Status().Code != codes.Error {
		t.Errorf("%v", spans)
	}
}

func TestAForcedHandoverIsAnError(t *testing.T) {
	traces, recorder := traced(tenureotel.TracesConfig{})
	traces.ObserveWork(runner.WorkEvent{Key: "k", End: runner.EndLost})
	traces.ObserveWork(runner.WorkEvent{Key: "k", End: runner.EndStopped, Forced: true, Started: time.Now(), Ran: time.Minute, WindDown: 3 * time.Second, LetGo: time.Second})
	s := named(recorder, "tenure.handover")
	if len(s) != 1 || s[0].Status().Code != codes.Error || took(s[0]) != 3*time.Second || took(named(recorder, "tenure.handover.drain")[0]) != 2*time.Second {
		t.Errorf("%v", s)
	}
}

func TestADrainIsToldOnce(t *testing.T) {
	traces, recorder := traced(tenureotel.TracesConfig{})
	began := time.Now()
	for _, p := range []drain.Progress{
		{}, {Began: began, Running: []string{"a", "b"}}, {Began: began, Elapsed: time.Second, Running: []string{"a"}, Done: []string{"b"}, MarkErr: lease.ErrUnavailable},
		{Began: began, Elapsed: 2 * time.Second, Done: []string{"a", "b"}, Drained: true}, {Began: began, Elapsed: 2 * time.Second, Drained: true},
	} {
		traces.ObserveDrain(p)
	}
	if s := named(recorder, "tenure.drain"); len(s) != 1 || len(s[0].Events()) != 4 || took(s[0]) != 2*time.Second {
		t.Errorf("%v", s)
	}
}
