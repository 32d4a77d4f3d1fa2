package tenureprom_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"go.yaml.in/yaml/v3"

	tenureprom "github.com/tenure-go/tenure/adapters/prometheus"
	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/metrics"
)

const (
	folder    = "../../deploy/monitoring"
	rulesFile = "tenure-rules.yaml"
	testsFile = "tenure-rules.test.yaml"
	boardFile = "tenure-dashboard.json"
)

// everything is a scrape of a process that has everything to tell.
func everything(t *testing.T) (map[string]*dto.MetricFamily, *prometheus.Registry) {
	t.Helper()
	c, registry := collector(t, tenureprom.Config{})
	lead(c, "nightly", 7)
	plan := assigner.Plan{
		Targets: []assigner.Target{{Key: "nightly", Instance: "a"}}, Quotas: []assigner.Quota{{Instance: "a", Quota: 1, Count: 1}},
	}
	c.ObserveBeat(coordinator.BeatEvent{Instance: "a", Members: 2, Active: 1, Took: time.Millisecond})
	c.ObservePlanner(coordinator.PlannerEvent{Kind: coordinator.PlannerElected, Instance: "a"})
	c.ObservePlan(coordinator.PlanEvent{Instance: "a", Plan: plan, Mine: 1})
	return families(t, registry), registry
}

// rule is one of a rule file.
type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type group struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type ruleFile struct {
	Groups []group `yaml:"groups"`
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	var f ruleFile
	if err := yaml.Unmarshal(read(t, rulesFile), &f); err != nil {
		t.Fatal(err)
	}
	for _, g := range f.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// shown returns every query of the dashboard, by where it is.
func shown(t *testing.T) map[string]string {
	t.Helper()
	var board struct {
		Panels []struct {
			ID          int
			Type, Title string
			Description string
			Targets     []struct{ Expr, RefID string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal(read(t, boardFile), &board); err != nil {
		t.Fatal(err)
	}
	all, ids := map[string]string{}, map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %d %q lacks a title, a description, a query or an id of its own", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, q := range p.Targets {
			all[fmt.Sprintf("panel %q, query %s", p.Title, q.RefID)] = q.Expr
		}
	}
	for _, v := range board.Templating.List {
		if v.Definition != "" {
			all["variable "+v.Name] = v.Definition
		}
	}
	return all
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	nameIn     = regexp.MustCompile(`\btenure[_:][a-z0-9_:]*`)
	selectorIn = regexp.MustCompile(`\b(tenure_[a-z0-9_]+)\{([^}]*)\}`)
	matcherIn  = regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"([^"]*)"`)
)

// family returns the name of the family that a series belongs to.
func family(series string, all map[string]*dto.MetricFamily) string {
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		base := strings.TrimSuffix(series, suffix)
		if f := all[base]; f != nil && base+suffix == series && (suffix == "" || f.GetType() == dto.MetricType_HISTOGRAM) {
			return base
		}
	}
	return ""
}

// queries returns all queries of rules and dashboard, by where they are.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := shown(t)
	for _, r := range rules(t) {
		all["rule "+r.Record+r.Alert] = r.Expr
	}
	return all
}

func TestEveryQueryAsksForWhatThereIs(t *testing.T) {
	all, _ := everything(t)
	recorded, used := map[string]bool{}, map[string]bool{}
	for _, r := range rules(t) {
		recorded[r.Record] = true
	}
	for where, query := range queries(t) {
		for _, name := range nameIn.FindAllString(query, -1) {
			base := family(name, all)
			if base == "" && !recorded[name] {
				t.Errorf("%s asks for %s, which nobody makes", where, name)
			}
			used[base] = true
		}
		for _, s := range selectorIn.FindAllStringSubmatch(query, -1) {
			for _, m := range matcherIn.FindAllStringSubmatch(s[2], -1) {
				if err := matches(family(s[1], all), m[1], m[3]); err != nil {
					t.Errorf("%s: %s: %v", where, s[0], err)
				}
			}
		}
	}
	for name := range all {
		if !used[name] {
			t.Errorf("%s is neither on the dashboard nor in a rule", name)
		}
	}
}

// matches checks a matcher of a query against the table.
func matches(name, label, values string) error {
	if slices.Contains([]string{"job", "instance", "le"}, label) || strings.HasPrefix(values, "$") {
		return nil
	}
	for _, m := range metrics.All() {
		for _, l := range m.Labels {
			if m.Prometheus() != name || l.Name != label {
				continue
			}
			for v := range strings.SplitSeq(values, "|") {
				if l.Values != nil && !slices.Contains(l.Values, v) {
					return fmt.Errorf("%s is never %q", label, v)
				}
			}
			return nil
		}
	}
	return fmt.Errorf("there is no label %s", label)
}

func TestEveryMetricOfTheTableIsExposedOnceAndNoOther(t *testing.T) {
	all, _ := everything(t)
	for _, m := range metrics.All() {
		f := all[m.Prometheus()]
		if f == nil || f.GetHelp() != m.Help || !strings.EqualFold(f.GetType().String(), string(m.Kind)) {
			t.Errorf("%s: %v", m.Prometheus(), f)
		}
		delete(all, m.Prometheus())
	}
	for name := range all {
		t.Errorf("%s is not in the table", name)
	}
}

func TestEveryAlertIsTestedAndExplainsItself(t *testing.T) {
	tests := string(read(t, testsFile))
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s lacks a summary or a description", r.Alert)
		}
		if !regexp.MustCompile(`alertname: ` + r.Alert + `\n\s+exp_alerts:\n`).MatchString(tests) {
			t.Errorf("%s fires in no test", r.Alert)
		}
	}
}

// promtool runs the tool of Debian's package prometheus.
func promtool(t *testing.T, stdin []byte, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("TENURE_REQUIRE_SERVERS") == "1" {
			t.Fatal("promtool is missing: install Debian's package prometheus, or run make servers")
		}
		t.Skip("promtool is missing: Debian's package prometheus has it")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Stdin = folder, bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPromtoolAcceptsTheRules(t *testing.T) { promtool(t, nil, "check", "rules", rulesFile) }
func TestPromtoolRunsTheRules(t *testing.T)    { promtool(t, nil, "test", "rules", testsFile) }

func TestPromtoolAcceptsTheScrape(t *testing.T) {
	all, _ := everything(t)
	var text bytes.Buffer
	for _, f := range all {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, text.Bytes(), "check", "metrics")
}

// A query of the dashboard is one of a rule but for Grafana's variables.
func TestPromtoolAcceptsTheDashboard(t *testing.T) {
	g := group{Name: "dashboard"}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$job", "app", "$key", "nightly")
	for where, query := range shown(t) {
		if strings.HasPrefix(where, "panel") {
			g.Rules = append(g.Rules, rule{Record: fmt.Sprintf("panel:%d", len(g.Rules)), Expr: variables.Replace(query)})
		}
	}
	text, err := yaml.Marshal(ruleFile{Groups: []group{g}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, nil, "check", "rules", path)
}
