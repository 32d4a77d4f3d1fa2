package mutants

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// edit replaces the only occurrence of old in file, a path from the module's root, by new.
type edit struct{ file, old, new string }

// mutant is a wrong engine, and the tests that must find it.
type mutant struct {
	name  string
	edits []edit
	pkg   string   // whose tests are run
	run   string   // which of them
	args  []string // flags of the test binary
}

// found is the line that says how a simulation caught a mutant.
var found = regexp.MustCompile(`seed \d+ breaks .*\n.*`)

func TestEveryMutantIsCaught(t *testing.T) {
	if os.Getenv("TENURE_MUTANTS") == "" {
		t.Skip("rebuilds packages for minutes: set TENURE_MUTANTS=1, or run make mutants")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	slots := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))
	for _, m := range all() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			out, failed := try(t, root, m)
			switch {
			case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
				t.Fatalf("does not compile:\n%s", out)
			case !failed:
				t.Errorf("survived: -run %s of %s passes with this edit", m.run, m.pkg)
			case strings.Contains(out, "test timed out") && !slices.ContainsFunc(m.args, func(a string) bool { return strings.HasPrefix(a, "-test.timeout") }):
				t.Errorf("no verdict: the tests are too slow, or hang:\n%s", out)
			case !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "panic: "):
				t.Errorf("failed without a failing test:\n%s", out)
			default:
				t.Log(found.FindString(out))
			}
		})
	}
}

// try runs the tests of m against its edited source.
func try(t *testing.T, root string, m mutant) (out string, failed bool) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for i, e := range m.edits {
		path := filepath.Join(root, filepath.FromSlash(e.file))
		from := path
		if again, ok := replace[path]; ok {
			from = again // a second edit of the same file
		}
		src, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(src), e.old); n != 1 {
			t.Fatalf("edit %d fits %d places of %s, want 1: bring the mutant up to date", i, n, e.file)
		}
		to := filepath.Join(dir, strings.ReplaceAll(e.file, "/", "_"))
		if err := os.WriteFile(to, []byte(strings.Replace(string(src), e.old, e.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = to
	}
	overlay := filepath.Join(dir, "overlay.json")
	js, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, js, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	args := append([]string{"test", "-count=1", "-timeout=19m", "-overlay", overlay, "-run", m.run, "./" + m.pkg}, m.args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	b, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("no result in time:\n%s", b)
	}
	return string(b), err != nil
}
