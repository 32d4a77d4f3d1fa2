package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every whole program in the README compiles. Here is the module that knows all stores.
func TestProgramsOfTheReadmeCompile(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	for _, block := range strings.Split(string(text), "```go\n")[1:] {
		code, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(code, "package main") {
			continue
		}
		programs++
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, code)
		}
	}
	if programs == 0 {
		t.Error("the README has no program any more: move this test to where they are")
	}
}
