package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

const deployDir = "../../deploy"

// manifest is what the rules below look at; other fields are Kubernetes' own.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Replicas int
		Selector struct{ MatchLabels map[string]string }
		Strategy struct {
			RollingUpdate struct{ MaxSurge, MaxUnavailable *int }
		}
		MaxUnavailable *int
		Template       struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				AutomountServiceAccountToken  *bool
				TerminationGracePeriodSeconds int
				Containers                    []container
			}
		}
	}
}

type container struct {
	Command   []string
	Ports     []struct{ Name string }
	Lifecycle struct{ PreStop hook }

	StartupProbe, LivenessProbe, ReadinessProbe hook
}

type hook struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	Exec    struct{ Command []string }
}

func manifests(t *testing.T, path string) (out []manifest) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := yaml.NewDecoder(f); ; {
		// The library folds the names of fields to lower case, as these files do not.
		var raw any
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		text, err := yaml.Marshal(lower(raw))
		if err != nil {
			t.Fatal(err)
		}
		var m manifest
		if err := yaml.Unmarshal(text, &m); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, m)
	}
}

// lower writes the names of all fields in lower case.
func lower(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k != "httpGet" {
				k = strings.ToLower(k)
			}
			out[k] = lower(x)
		}
		return out
	case []any:
		for i, x := range v {
			v[i] = lower(x)
		}
	}
	return v
}

// accepted fails the test where the program does not know a flag of the command.
func accepted(t *testing.T, args []string) {
	t.Helper()
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	if status, _, said := command(append(slices.Clone(args), "--help")...); status != 0 {
		t.Errorf("%v: %s", args, said)
	}
}

// duration is the value of a flag.
func duration(t *testing.T, args []string, flag string) time.Duration {
	t.Helper()
	for _, a := range args {
		if text, ok := strings.CutPrefix(a, flag+"="); ok {
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Error(err)
			}
			return d
		}
	}
	t.Errorf("%v has no %s", args, flag)
	return 0
}

func TestManifests(t *testing.T) {
	t.Parallel()
	const handlerTimeout = time.Minute // drain.Config.Timeout, by default
	files, err := filepath.Glob(deployDir + "/kubernetes/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		all := manifests(t, file)
		if len(all) != 2 || all[0].Kind != "Deployment" || all[1].Kind != "PodDisruptionBudget" {
			t.Errorf("%s: expected a Deployment and its budget", file)
			continue
		}
		d, budget := all[0].Spec, all[1].Spec
		pod := d.Template.Spec
		roll := d.Strategy.RollingUpdate
		if roll.MaxSurge == nil || *roll.MaxSurge != 1 || roll.MaxUnavailable == nil || *roll.MaxUnavailable != 0 {
			t.Errorf("%s: a rollout adds one pod and takes none away before", file)
		}
		if budget.MaxUnavailable == nil || *budget.MaxUnavailable >= d.Replicas || budget.Selector.MatchLabels["app"] != d.Template.Metadata.Labels["app"] ||
			d.Selector.MatchLabels["app"] != d.Template.Metadata.Labels["app"] {
			t.Errorf("%s: the selectors do not select the pods, or the budget admits that all go", file)
		}
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: the pods need no token of the cluster", file)
		}
		c := pod.Containers[0]
		var needs time.Duration
		switch {
		case len(c.Command) > 0:
			accepted(t, c.Command[1:])
			needs = duration(t, c.Command, "--drain-timeout")
		case len(c.Lifecycle.PreStop.Exec.Command) > 0:
			accepted(t, c.Lifecycle.PreStop.Exec.Command[1:])
			needs = duration(t, c.Lifecycle.PreStop.Exec.Command, "--timeout")
			if needs <= handlerTimeout {
				t.Errorf("%s: the hook gives up before the handler says what still runs", file)
			}
		default:
			needs = handlerTimeout
			if c.Lifecycle.PreStop.HTTPGet.Path != "/drain" || c.Lifecycle.PreStop.HTTPGet.Port != "internal" {
				t.Errorf("%s: preStop %+v", file, c.Lifecycle.PreStop)
			}
		}
		if grace := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second; grace < needs+10*time.Second {
			t.Errorf("%s: a grace period of %v leaves no time behind a drain of %v", file, grace, needs)
		}
		for name, p := range map[string]hook{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
			if len(p.Exec.Command) > 0 {
				accepted(t, p.Exec.Command[1:])
			} else if len(c.Command) == 0 && p.HTTPGet.Path == "" {
				t.Errorf("%s: no %s probe", file, name)
			}
		}
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(deployDir + "/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Profiles  []string
			Image     string
			Command   []string
			DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for name, s := range file.Services {
		if len(s.Profiles) != 1 || !strings.HasSuffix(name, s.Profiles[0]) {
			t.Errorf("service %s has the profiles %v", name, s.Profiles)
		}
		if strings.HasPrefix(s.Image, "tenure") {
			accepted(t, s.Command)
		}
		for other := range s.DependsOn {
			if len(file.Services[other].Profiles) != 1 || file.Services[other].Profiles[0] != s.Profiles[0] {
				t.Errorf("service %s depends on %s, of another profile", name, other)
			}
		}
	}
}

func TestUnit(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	text, err := os.ReadFile(deployDir + "/systemd/tenure-run@.service")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		if args, ok := strings.CutPrefix(strings.TrimSpace(l), "ExecStart=/usr/local/bin/tenure "); ok {
			accepted(t, strings.Fields(args))
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "tenure-run@.service")
	if err := os.WriteFile(unit, bytes.ReplaceAll(text, []byte("/usr/local/bin/tenure"), []byte(self)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// What the guides show can be typed.
func TestGuides(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cli.md", "deploy.md"} {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for l := range strings.Lines(string(text)) {
			if args, ok := strings.CutPrefix(strings.TrimSpace(l), "$ tenure "); ok {
				shown++
				accepted(t, strings.Fields(args))
			}
		}
		if name == "cli.md" && shown < 12 {
			t.Errorf("%s shows %d commands", name, shown)
		}
	}
}
