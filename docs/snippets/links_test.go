package snippets

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	test  = regexp.MustCompile("\\[`((?:Test|Fuzz|Example)\\w+)`\\]\\(([^)]+)\\)")
	check = regexp.MustCompile("`([A-Z]\\d\\d)`")
)

// Every link into the repository leads somewhere.
func TestLinks(t *testing.T) {
	for _, file := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			path := filepath.Join(root, filepath.Dir(file), target)
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: link to %s: %v", file, m[1], err)
			}
		}
	}
}

// Every test that a promise names exists where it says, and so does every check of the conformance suite.
func TestNamedTestsExist(t *testing.T) {
	checks := ""
	suite, err := filepath.Glob(root + "/storetest/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range suite {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checks += string(text)
	}
	promises := 0
	for _, file := range documents(t) {
		text := read(t, file)
		for _, m := range test.FindAllStringSubmatch(text, -1) {
			promises++
			source, err := os.ReadFile(filepath.Join(root, filepath.Dir(file), m[2]))
			if err != nil || !strings.Contains(string(source), "func "+m[1]+"(") {
				t.Errorf("%s: no %s in %s", file, m[1], m[2])
			}
		}
		for _, m := range check.FindAllStringSubmatch(text, -1) {
			promises++
			if !strings.Contains(checks, `id: "`+m[1]+`"`) {
				t.Errorf("%s: the conformance suite has no check %s", file, m[1])
			}
		}
	}
	if promises < 30 {
		t.Errorf("only %d tests are named: has their form changed?", promises)
	}
}
