package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenure-go/tenure/bench/internal/lab"
)

// TestScenarios runs two scenarios as small as they can be: that they run and judge, not what they measure.
func TestScenarios(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("TENURE_REQUIRE_SERVERS") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	bin := filepath.Join(t.TempDir(), "bench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"acquire-redis", "waiters"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, bin, "-tiny", "-no-peers", "-json", "-only", name)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, stderr.Bytes())
		}
		var r lab.Report
		if err := json.Unmarshal(out, &r); err != nil || r.Name != name || len(r.Tables) == 0 || len(r.Bounds) == 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
