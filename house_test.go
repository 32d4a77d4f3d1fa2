package tenure_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostLines is the longest source file. Beyond it a reader scrolls instead of reading.
const mostLines = 400

// goFiles calls f for every Go file of the repository, nested modules included.
func goFiles(t *testing.T, f func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f(path, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreShort(t *testing.T) {
	goFiles(t, func(path string, text []byte) {
		if n := bytes.Count(text, []byte("\n")); n > mostLines {
			t.Errorf("%s has %d lines, at most %d: split it by what its parts are for", path, n, mostLines)
		}
	})
}

// A test of the core that sleeps for real is slow on a good day and wrong on a bad one. In a
// synctest bubble time is virtual and a sleep costs nothing; the bubble may be opened by a helper
// in another file of the package.
func TestCoreTestsSleepInBubblesOnly(t *testing.T) {
	sleeps, bubbles := map[string]string{}, map[string]bool{}
	goFiles(t, func(path string, text []byte) {
		folder := filepath.ToSlash(filepath.Dir(path))
		switch top, _, _ := strings.Cut(folder, "/"); top {
		case "adapters", "bench", "cmd", "examples", "sample", "verify":
			return // real servers and processes live in real time
		}
		if folder == "." {
			return
		}
		if bytes.Contains(text, []byte("time.Sleep(")) {
			sleeps[folder] = path
		}
		bubbles[folder] = bubbles[folder] || bytes.Contains(text, []byte(`"testing/synctest"`))
	})
	for folder, path := range sleeps {
		if !bubbles[folder] {
			t.Errorf("%s calls time.Sleep, and nothing in %s opens a bubble: use testing/synctest", path, folder)
		}
	}
}
