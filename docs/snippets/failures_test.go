package snippets

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const failures = "docs/failures.md"

var (
	// failureRow is a row of the tables of failures: its name, and the rest.
	failureRow = regexp.MustCompile(`(?m)^\| (F?\d+) \|(.*)$`)
	// heldBy is a test that a row names.
	heldBy = regexp.MustCompile("`([a-z]+\\.(?:Test|Fuzz)\\w+)`")
	// rowsLine is the line above a test that names its rows.
	rowsLine = regexp.MustCompile(`(?m)^Failures? (F?\d+(?:, F?\d+)*)\.$`)
)

// testsOfRows returns the rows that the comment above each test names, by package and name. A test without such a line is
// there as well.
func testsOfRows(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				name := strings.TrimSuffix(file.Name.Name, "_test") + "." + f.Name.Name
				all[name] = append(all[name], rowsAbove(f)...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func rowsAbove(f *ast.FuncDecl) []string {
	if m := rowsLine.FindStringSubmatch(f.Doc.Text()); m != nil {
		return strings.Split(m[1], ", ")
	}
	return nil
}

// Each failure has one row, each row names tests that exist and name it in turn, and no test names a row that does not name it.
func TestFailuresAndTheirTestsNameEachOther(t *testing.T) {
	want := map[string]bool{}
	for i := range 12 {
		want[fmt.Sprint("F", i+1)] = true
	}
	for i := 1; i <= 83; i += 2 {
		want[strconv.Itoa(i)] = true
	}
	tests := testsOfRows(t)
	rows := map[string][]string{}
	for _, m := range failureRow.FindAllStringSubmatch(read(t, failures), -1) {
		name, text := m[1], m[2]
		if _, twice := rows[name]; twice || !want[name] {
			t.Errorf("row %s is there twice, or is none of those that there are", name)
		}
		rows[name] = []string{}
		for _, m := range heldBy.FindAllStringSubmatch(text, -1) {
			rows[name] = append(rows[name], m[1])
		}
		if len(rows[name]) == 0 && !check.MatchString(text) {
			t.Errorf("row %s names no test", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, ok := rows[name]; !ok {
			t.Errorf("there is no row %s", name)
		}
		for _, test := range rows[name] {
			if above, ok := tests[test]; !ok {
				t.Errorf("row %s: there is no test %s", name, test)
			} else if !slices.Contains(above, name) {
				t.Errorf("row %s names %s, whose comment names %v", name, test, above)
			}
		}
	}
	for test, above := range tests {
		for _, name := range above {
			if !slices.Contains(rows[name], test) {
				t.Errorf("%s names row %s, which does not name it", test, name)
			}
		}
	}
}
