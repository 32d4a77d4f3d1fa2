package snippets

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// snippet is one fenced block.
type snippet struct {
	file  string // from the root
	line  int    // of its first line
	code  string
	extra []string // declarations of the comment above
}

// documents returns every Markdown file that users read.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md"}
	err := filepath.WalkDir(root+"/docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" {
			rel, _ := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func snippetsOf(file, text string) (all []snippet) {
	var extra []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if decl, ok := strings.CutPrefix(line, "<!-- snippet: "); ok {
			extra = append(extra, strings.TrimSuffix(decl, " -->"))
			continue
		}
		if line == "```go" {
			s := snippet{file: file, line: i + 2, extra: extra}
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
				s.code += lines[i] + "\n"
			}
			all = append(all, s)
		}
		if line != "" {
			extra = nil
		}
	}
	return all
}

var (
	named    = regexp.MustCompile(`^(?:var|func|type|const) (\w+)`)
	comments = regexp.MustCompile(`(?m)(^|\s)//.*$`)
)

// source is the snippet as a file. Its lines are those of the document.
func (s snippet) source() string {
	at := fmt.Sprintf("//line %s:%d\n", s.file, s.line)
	if strings.HasPrefix(s.code, "package ") {
		return at + s.code
	}
	declared := map[string]bool{}
	body := s.code
	if first := named.FindStringSubmatch(strings.TrimLeft(comments.ReplaceAllString(s.code, ""), "\n ")); first == nil {
		body = "func _(ctx context.Context) error {\n" + at + s.code + "\nreturn nil\n}\n"
	} else {
		for line := range strings.SplitSeq(s.code, "\n") {
			if m := named.FindStringSubmatch(line); m != nil {
				declared[m[1]] = true
			}
		}
		body = at + body
	}
	var decls []string
	for _, d := range slices.Concat(ofFile[s.file], s.extra) {
		decls = append(decls, d)
		if m := named.FindStringSubmatch(d); m != nil {
			declared[m[1]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(prelude)) {
		if !declared[name] {
			decls = append(decls, prelude[name])
		}
	}
	rest := strings.Join(decls, "\n") + "\n" + body
	var head strings.Builder
	head.WriteString("package snippet\n")
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if !declared[name] && regexp.MustCompile(`\b`+name+`\.\w`).MatchString(comments.ReplaceAllString(rest, "")) {
			fmt.Fprintf(&head, "import %s %q\n", name, imports[name])
		}
	}
	return head.String() + rest
}

// What a snippet leaves unused is of no interest: it is a part of something.
var unused = regexp.MustCompile(`declared and not used|imported and not used|is not used|no new variables|missing return`)

func TestSnippetsCompile(t *testing.T) {
	fset := token.NewFileSet()
	var files []*ast.File
	paths := map[string]bool{}
	for _, file := range documents(t) {
		for _, s := range snippetsOf(file, read(t, file)) {
			f, err := parser.ParseFile(fset, "snippet.go", s.source(), parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			files = append(files, f)
			for _, i := range f.Imports {
				paths[strings.Trim(i.Path.Value, `"`)] = true
			}
		}
	}
	if len(files) < 25 {
		t.Errorf("only %d snippets were found: has their form changed?", len(files))
	}
	from := importer.ForCompiler(fset, "gc", compiled(t, slices.Sorted(maps.Keys(paths))))
	for _, f := range files {
		cfg := types.Config{Importer: from, GoVersion: "go1.26", Error: func(err error) {
			if !unused.MatchString(err.Error()) {
				t.Error(err)
			}
		}}
		_, _ = cfg.Check("snippet", fset, []*ast.File{f}, nil) // Error has heard it all
	}
	t.Logf("%d snippets", len(files))
}

// compiled finds the compiled form of packages and of all that they import.
func compiled(t *testing.T, paths []string) importer.Lookup {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, paths...)...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal("go list:", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
}
