package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenure-go/tenure/sample/witness"
)

// asMain makes the test binary be the program.
const asMain = "TENURE_SAMPLE_AS_MAIN"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(podEnv) != "":
		main()
	case os.Getenv(asMain) != "":
		main()
	default:
		os.Exit(m.Run())
	}
}

// program is the sample as a process of its own.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd = exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func exitStatus(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

func TestWrongUseIsOneLineAndStartsNothing(t *testing.T) {
	file := func(text string) string {
		name := t.TempDir() + "/catalogue"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown flag", []string{"-x"}, "-x"},
		{"not a number", []string{"-pods", "many"}, `"many" for flag -pods: must be a whole number`},
		{"a negative seed", []string{"-seed", "-1"}, "-seed: must be a whole number of 0 or more"},
		{"not a time", []string{"-for", "abc"}, "-for: must be a time with its unit"},
		{"an empty store", []string{"-store", ""}, `-store "": must not be empty`},
		{"an empty catalogue name", []string{"-catalogue", ""}, `-catalogue "": must not be empty`},
		{"argument", []string{"chaos"}, `"chaos"`},
		{"no pods", []string{"-pods", "0"}, "-pods 0: must be between 1 and 32"},
		{"too many pods", []string{"-pods", "33"}, "-pods 33"},
		{"no workloads", []string{"-workloads", "0"}, "-workloads 0: must be between 1 and 10000"},
		{"negative time", []string{"-for", "-1s"}, "-for -1s: must not be negative"},
		{"short lease", []string{"-lease-ttl", "10ms"}, "-lease-ttl 10ms: must be between 500ms and 1h0m0s"},
		{"no port", []string{"-page", "127.0.0.1"}, "-page 127.0.0.1: write it as host:port"},
		{"not a port", []string{"-page", "127.0.0.1:many"}, "is not a port"},
		{"a name", []string{"-page", "example.com:80"}, "is not an address of this machine"},
		{"an address elsewhere", []string{"-page", "192.0.2.1:0"}, "-page: listen tcp 192.0.2.1:0"},
		{"two catalogues", []string{"-workloads", "3", "-catalogue", "x"}, "give one of them"},
		{"chaos and rollout", []string{"-chaos", "-rollout"}, "give one of them"},
		{"missing catalogue", []string{"-catalogue", t.TempDir() + "/none"}, "no such file"},
		{"empty catalogue", []string{"-catalogue", file("# nothing\n\n")}, "is empty: write one key a line"},
		{"duplicates", []string{"-catalogue", file("a\nb\na\n")}, `line 3 repeats "a" of line 1`},
		{"reserved key", []string{"-catalogue", file("tenure:x\n")}, "the prefix tenure: is reserved"},
		{"own key", []string{"-catalogue", file(digestKey + "\n")}, "singleton job"},
		{"long key", []string{"-catalogue", file(strings.Repeat("k", 513) + "\n")}, "at most 512 bytes"},
		{"long line", []string{"-catalogue", file(strings.Repeat("k", 70_000) + "\n")}, "write one key a line"},
		{"bytes that are no text", []string{"-catalogue", file("\xff\n")}, "UTF-8"},
		{"unknown store", []string{"-store", "mysql://localhost/x"}, `"mysql" is not one of redis, rediss`},
		{"no URL", []string{"-store", "redis://user:secret@%zz"}, "not a URL"},
		{"unreachable store", []string{"-store", "redis://:secret@127.0.0.1:1/0"}, "connection refused; check that the server runs"},
		{"unreachable database", []string{"-store", "postgres://me:secret@127.0.0.1:1/x"}, "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, stdout, stderr := program(t, c.args...)
			status := exitStatus(t, cmd.Run())
			text := stderr.String()
			if status != exitUsage || stdout.Len() > 0 || strings.Count(text, "\n") != 1 || !strings.Contains(text, c.want) {
				t.Errorf("status %d, stdout %q, stderr %q; want status 2 and one line with %q", status, stdout, text, c.want)
			}
			if strings.Contains(text, "secret") {
				t.Errorf("the password is shown: %q", text)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	cmd, stdout, stderr := program(t, "-h")
	if status := exitStatus(t, cmd.Run()); status != exitGood || stderr.Len() > 0 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	for _, flag := range []string{"-pods", "-catalogue", "-workloads", "-for", "-chaos", "-rollout", "-fail-fast", "-seed", "-lease-ttl", "-json", "-store", "-page"} {
		if !strings.Contains(stdout.String(), "  "+flag) {
			t.Errorf("help does not mention %s:\n%s", flag, stdout)
		}
	}
}

// verdict checks that stdout is JSON lines alone, and returns the events and the summary.
func verdict(t *testing.T, stdout string) ([]line, witness.Summary) {
	t.Helper()
	var events []line
	var summary witness.Summary
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	for i, text := range lines {
		into := any(&summary)
		if i < len(lines)-1 {
			events = append(events, line{})
			into = &events[i]
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			t.Fatalf("line %d: %v: %s", i+1, err, text)
		}
	}
	for i, e := range events {
		if _, err := time.Parse(time.RFC3339Nano, e.Time); err != nil {
			t.Errorf("line %d: %v", i+1, err)
		}
	}
	if summary.Event != "summary" {
		t.Fatalf("the last line is no summary: %s", lines[len(lines)-1])
	}
	return events, summary
}
