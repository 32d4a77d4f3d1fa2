package tenure_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The import order of the core. A package may import what its line allows and nothing else of
// this module, internal packages apart. Do not change it to make a build pass: an arrow that
// points back means that something lives in the wrong place.
var importOrder = map[string][]string{
	"instance":    {},
	"lease":       {"instance"},
	"registry":    {"instance"},
	"status":      {"instance"},
	"assigner":    {"instance"},
	"drain":       {"instance"},
	"resolver":    {"instance", "lease", "registry", "status"},
	"fencing":     {"instance", "lease"},
	"tick":        {"instance", "lease", "registry", "status"},
	"runner":      {"instance", "lease", "registry", "status", "assigner", "drain", "tick"},
	"coordinator": {"instance", "lease", "registry", "status", "assigner", "drain", "tick", "runner"},
	// What is measured knows no metrics library.
	"metrics":   {"instance", "lease", "registry", "status", "assigner", "drain", "runner", "coordinator"},
	"dashboard": {"instance", "lease", "registry", "status", "assigner", "drain", "runner", "coordinator"},
	"health":    {"lease", "runner", "coordinator"},
	// Stores and the suite that proves them know the contracts, never the engines.
	"memory":    {"instance", "lease", "registry", "status", "assigner", "tick"},
	"storetest": {"instance", "lease", "registry", "status", "assigner", "tick"},
	// Helpers for a user's own tests play stores and run engines.
	"tenuretest": {"instance", "lease", "registry", "status", "assigner", "drain", "runner", "coordinator", "memory"},
}

const module = "github.com/tenure-go/tenure"

// allowedModules is everything that a user of the core compiles besides the standard library.
var allowedModules = []string{"golang.org/x/sync", "golang.org/x/sys"}

// allowedInTests may be imported by the core's own tests as well.
var allowedInTests = append([]string{"github.com/stretchr/testify", "pgregory.net/rapid"}, allowedModules...)

type goPackage struct {
	ImportPath                         string
	Standard                           bool
	Module                             *struct{ Path string }
	Imports, TestImports, XTestImports []string
}

// list runs go list without the workspace: what a user's build sees.
func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Standard,Module,Imports,TestImports,XTestImports"}, args...)...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	var packages []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list %v: %v", args, err)
		}
		packages = append(packages, p)
	}
}

func TestDepsImportOrder(t *testing.T) {
	for _, p := range list(t, "./...") {
		from := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, known := importOrder[from]
		switch {
		case from == "":
			continue // the root is above everything
		case from == "internal/sim":
			continue // a simulation of whole fleets; only tests import it
		case strings.HasPrefix(from, "internal/"):
			allowed = nil // small machinery under everything: it knows none of it
		case !known:
			t.Errorf("package %s is not in the import order: decide where it belongs", from)
			continue
		}
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module+"/")
			if path == module {
				t.Errorf("%s imports the root package, which is for users alone", from)
			}
			if ours && !slices.Contains(allowed, to) && (!strings.HasPrefix(to, "internal/") || to == "internal/sim") {
				t.Errorf("%s must not import %s; it may import %v and internal packages", from, to, allowed)
			}
		}
	}
}

func TestDepsOfTheCore(t *testing.T) {
	for _, p := range list(t, "-deps", "./...") {
		if p.Standard || p.Module == nil || p.Module.Path == module || slices.Contains(allowedModules, p.Module.Path) {
			continue
		}
		t.Errorf("the core depends on %s, of module %s: the core is the standard library and %v", p.ImportPath, p.Module.Path, allowedModules)
	}
}

func TestDepsOfTheCoresTests(t *testing.T) {
	for _, p := range list(t, "./...") {
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			first, _, _ := strings.Cut(path, "/")
			within := func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }
			if !strings.Contains(first, ".") || within(module) || slices.ContainsFunc(allowedInTests, within) {
				continue
			}
			t.Errorf("tests of %s import %s; allowed are the standard library and %v", p.ImportPath, path, allowedInTests)
		}
	}
}
