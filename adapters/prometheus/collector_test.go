package tenureprom_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	tenureprom "github.com/tenure-go/tenure/adapters/prometheus"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/metrics"
	"github.com/tenure-go/tenure/runner"
)

// collector returns one that is registered.
func collector(t *testing.T, cfg tenureprom.Config) (*tenureprom.Collector, *prometheus.Registry) {
	t.Helper()
	c, err := tenureprom.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry() // compares what is collected with what was described
	registry.MustRegister(c)
	return c, registry
}

// lead makes a collector see a term begin.
func lead(c *tenureprom.Collector, key string, token uint64) {
	now := time.Now()
	c.ObserveState(runner.StateEvent{Key: key, To: runner.Standby, At: now})
	c.ObserveRenew(lease.RenewEvent{Session: "s", Opening: true, At: now, Of: time.Hour, Until: now.Add(time.Hour), Incarnation: 3})
	c.ObserveTerm(lease.TermEvent{Kind: lease.TermGranted, At: now, Lease: lease.Lease{Key: key, Session: "s", Token: token}})
	c.ObserveState(runner.StateEvent{Key: key, From: runner.Standby, To: runner.Active, Token: token, At: now})
}

func families(t *testing.T, registry *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	list, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*dto.MetricFamily{}
	for _, f := range list {
		all[f.GetName()] = f
	}
	return all
}

// Failure 81.
func TestSeriesOfAnEndedTermDisappear(t *testing.T) {
	c, registry := collector(t, tenureprom.Config{})
	const token = 1_700_000_000_123_457 // microseconds: more digits than a float of 32 bits has
	lead(c, "nightly", token)
	names := []string{"tenure_is_leader", "tenure_term_token", "tenure_held"}
	compare := func(want string) {
		t.Helper()
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	}
	const held, leader, number = `
# HELP tenure_held Leases that this process holds and whose deadline has not passed.
# TYPE tenure_held gauge
`, `
# HELP tenure_is_leader 1 while this process holds the key and its deadline has not passed, 0 while it contends for it.
# TYPE tenure_is_leader gauge
`, `
# HELP tenure_term_token The fencing token of the present term; absent between terms.
# TYPE tenure_term_token gauge
`
	compare(held + "tenure_held 1" + leader + `tenure_is_leader{key="nightly"} 1` + number + `tenure_term_token{key="nightly"} 1.700000000123457e+15
`)
	c.ObserveTerm(lease.TermEvent{Kind: lease.TermLost, Reason: lease.ReasonTaken, Lease: lease.Lease{Key: "nightly", Session: "s", Token: token}})
	compare(held + "tenure_held 0" + leader + `tenure_is_leader{key="nightly"} 0
`)
	c.ObserveState(runner.StateEvent{Key: "nightly", From: runner.Lost, To: runner.Stopped})
	compare(held + "tenure_held 0\n")
}

func TestEveryCounterBeginsAtZero(t *testing.T) {
	_, registry := collector(t, tenureprom.Config{})
	all := families(t, registry)
	for _, m := range metrics.All() {
		n := 0
		m.Series(func([]string) { n++ })
		f := all[m.Prometheus()]
		if m.Kind != metrics.Gauge && (f == nil || len(f.Metric) != n) {
			t.Errorf("%s has %d of %d series before the first event", m.Prometheus(), len(f.GetMetric()), n)
		}
	}
}

func TestThePrometheusLinterFindsNothing(t *testing.T) {
	c, registry := collector(t, tenureprom.Config{})
	lead(c, "nightly", 7)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

func TestLabelsAndBuckets(t *testing.T) {
	_, registry := collector(t, tenureprom.Config{
		Labels: prometheus.Labels{"fleet": "billing"}, NativeHistograms: true,
		Buckets: map[string][]float64{"tenure_plan_duration_seconds": {1, 2}},
	})
	for name, f := range families(t, registry) {
		for _, m := range f.Metric {
			labels := ""
			for _, l := range m.Label {
				labels += l.GetName() + "=" + l.GetValue() + " "
			}
			if !strings.Contains(labels, "fleet=billing") {
				t.Errorf("%s is of no fleet", name)
			}
			if h := m.Histogram; name == "tenure_plan_duration_seconds" && len(h.GetBucket()) != 2 {
				t.Errorf("%d buckets", len(h.GetBucket()))
			}
			if h := m.Histogram; h != nil && h.Schema == nil {
				t.Errorf("%s is not native", name)
			}
		}
	}
	other, err := tenureprom.New(tenureprom.Config{Labels: prometheus.Labels{"fleet": "search"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.Register(other); err != nil {
		t.Errorf("two fleets in one process: %v", err)
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	for field, cfg := range map[string]tenureprom.Config{
		`Labels["key"]`:       {Labels: prometheus.Labels{"key": "x"}},
		`Labels["le"]`:        {Labels: prometheus.Labels{"le": "x"}},
		`Labels["__x"]`:       {Labels: prometheus.Labels{"__x": "x"}},
		`Labels["fleet"]`:     {Labels: prometheus.Labels{"fleet": "\xff"}},
		`Buckets tenure_held`: {Buckets: map[string][]float64{"tenure_held": {1}}},
		`Buckets["tenure_plan_duration_seconds"]`: {Buckets: map[string][]float64{"tenure_plan_duration_seconds": {1, 1}}},
	} {
		_, err := tenureprom.New(cfg)
		if !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestConcurrentEventsAndScrapes(t *testing.T) {
	c, registry := collector(t, tenureprom.Config{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range uint64(2000) {
			lead(c, "nightly", i)
			c.ObserveCall(lease.CallEvent{Op: "Renew"})
			c.ObserveTerm(lease.TermEvent{Kind: lease.TermReleased, Lease: lease.Lease{Key: "nightly", Session: "s", Token: i}})
		}
	}()
	for range 20 {
		if _, err := registry.Gather(); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	if got := *families(t, registry)["tenure_held"].Metric[0].Gauge.Value; got != 0 {
		t.Errorf("%v held at the end", got)
	}
}

// The guide says how many there are in a process that has one key and everything else to tell.
func TestHowManySeriesThereAre(t *testing.T) {
	_, registry := everything(t)
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range all {
		for _, m := range f.Metric {
			n++
			if h := m.Histogram; h != nil {
				n += len(h.Bucket) + 2 // with +Inf, _sum and _count
			}
		}
	}
	t.Logf("%d series", n)
	if n != 524 {
		t.Errorf("%d series: say so in the guide", n)
	}
}
