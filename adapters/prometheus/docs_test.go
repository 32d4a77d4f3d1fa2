package tenureprom_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/tenure-go/tenure/metrics"
)

const guide = "../../docs/observability.md"

// usedBy returns the alerts that depend on each family, by themselves or through recorded series.
func usedBy(t *testing.T, all map[string]*dto.MetricFamily) map[string][]string {
	t.Helper()
	recorded := map[string][]string{} // recorded series -> families
	of := func(query string) (out []string) {
		for _, name := range nameIn.FindAllString(query, -1) {
			if base := family(name, all); base != "" {
				out = append(out, base)
			}
			out = append(out, recorded[name]...)
		}
		return out
	}
	used := map[string][]string{}
	for _, r := range rules(t) {
		if r.Record != "" {
			recorded[r.Record] = of(r.Expr)
			continue
		}
		for _, name := range of(r.Expr) {
			if !slices.Contains(used[name], r.Alert) {
				used[name] = append(used[name], r.Alert)
			}
		}
	}
	return used
}

// table is what the guide must say.
func table(t *testing.T) string {
	t.Helper()
	all, _ := everything(t)
	used := usedBy(t, all)
	var b strings.Builder
	b.WriteString("| metric | kind | unit | labels | meaning | alerts |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, m := range metrics.All() {
		unit, labels := strings.Trim(m.Unit, "{}"), make([]string, 0, len(m.Labels))
		if unit == "s" {
			unit = "seconds"
		}
		for _, l := range m.Labels {
			text := "`" + l.Name + "`"
			if l.Values != nil {
				text += ": " + strings.Join(l.Values, ", ")
			}
			labels = append(labels, text)
		}
		alerts := used[m.Prometheus()]
		for i, a := range alerts {
			alerts[i] = strings.TrimPrefix(a, "Tenure")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", m.Prometheus(), m.Kind, unit, strings.Join(labels, "; "), m.Help, strings.Join(alerts, ", "))
	}
	return b.String()
}

// With TENURE_UPDATE=1 the table is written instead of compared.
func TestTheGuideListsEveryMetric(t *testing.T) {
	const begin, end = "<!-- metrics: written by TENURE_UPDATE=1 go test -run Guide, in adapters/prometheus -->\n", "<!-- end of metrics -->"
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	is, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("the guide has lost the marks around its table")
	}
	want := table(t)
	if os.Getenv("TENURE_UPDATE") == "1" {
		if err := os.WriteFile(guide, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if is != want {
		t.Errorf("the table of %s is out of date: run the tests with TENURE_UPDATE=1", guide)
	}
}

func TestTheGuideSaysWhatToDoAboutEveryAlert(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t) {
		if r.Alert != "" && !strings.Contains(string(text), "| `"+r.Alert+"` |") {
			t.Errorf("the guide does not say what to do about %s", r.Alert)
		}
	}
}
