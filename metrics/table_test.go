package metrics_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenure-go/tenure/metrics"
)

func TestTheTableIsSound(t *testing.T) {
	word := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	names := map[string]bool{}
	for _, m := range metrics.All() {
		if !strings.HasPrefix(m.Name, "tenure.") || names[m.Prometheus()] {
			t.Errorf("the name %q", m.Name)
		}
		names[m.Prometheus()] = true
		for part := range strings.SplitSeq(m.Name, ".") {
			if !word.MatchString(part) {
				t.Errorf("%s: %q is no word", m.Name, part)
			}
		}
		if !strings.HasSuffix(m.Help, ".") || m.Unit == "" {
			t.Errorf("%s lacks a sentence or a unit", m.Name)
		}
		if (m.Kind == metrics.Histogram) != (len(m.Buckets) > 0) || !slices.IsSorted(m.Buckets) {
			t.Errorf("buckets of %s: %v", m.Name, m.Buckets)
		}
		for _, l := range m.Labels {
			if !word.MatchString(l.Name) || l.Values == nil && (l.Name != "key" || m.Kind != metrics.Gauge) {
				t.Errorf("%s: the values of %q have no end", m.Name, l.Name)
			}
		}
	}
}

func TestSeriesAreAllCombinations(t *testing.T) {
	m := metrics.Metric{Labels: []metrics.Label{{Name: "a", Values: []string{"1", "2"}}, {Name: "b", Values: []string{"x", "y"}}}}
	var got []string
	m.Series(func(labels []string) { got = append(got, strings.Join(labels, "")) })
	if strings.Join(got, " ") != "1x 1y 2x 2y" {
		t.Error(got)
	}
	metrics.Metric{Labels: []metrics.Label{{Name: "key"}}}.Series(func([]string) { t.Error("keys are not known beforehand") })
}

func TestNamesInPrometheus(t *testing.T) {
	for want, m := range map[string]metrics.Metric{
		"tenure_a_b":         {Name: "tenure.a.b", Kind: metrics.Gauge, Unit: "{x}"},
		"tenure_a_seconds":   {Name: "tenure.a", Kind: metrics.Histogram, Unit: "s"},
		"tenure_calls_total": {Name: "tenure.calls", Kind: metrics.Counter, Unit: "{call}"},
	} {
		if got := m.Prometheus(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
