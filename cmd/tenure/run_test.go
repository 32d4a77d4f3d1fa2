package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// fleetIn provisions a fleet and returns the flags that name it.
func fleetIn(t *testing.T, s *server, name string) []string {
	t.Helper()
	flags := []string{"--store", s.url, "--fleet", name}
	must(t, append([]string{"provision"}, flags...)...)
	return flags
}

// running starts "tenure run" with the flags, for a key of its own.
func running(t *testing.T, stdin string, flags []string, args ...string) *process {
	t.Helper()
	return start(t, stdin, nil, append(append([]string{"run", "--key", "job"}, flags...), args...)...)
}

func TestRunPassesOn(t *testing.T) {
	t.Parallel()
	redis := privateRedis(t)
	for _, c := range []struct {
		name, stdin string
		args        []string
		status      int
		out         string
	}{
		{"status 0", "", []string{"--", "true"}, 0, ""},
		{"status 7", "", []string{"--", "sh", "-c", "exit 7"}, 7, ""},
		{"death by a signal", "", []string{"--", "sh", "-c", "kill -USR1 $$"}, 138, ""},
		{"the streams", "one\ntwo\n", []string{"--", "tr", "a-z", "A-Z"}, 0, "ONE\nTWO\n"},
		{"arguments as they are", "", []string{"--", "printf", "%s|", "a b", "--json", "--", "$x", ""}, 0, "a b|--json|--|$x||"},
		{"nothing of its own on standard output", "", []string{"--json", "--", "echo", "{}"}, 0, "{}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := running(t, c.stdin, fleetIn(t, redis, c.name), c.args...)
			if status := p.wait(); status != c.status || p.out.String() != c.out {
				t.Errorf("status %d, output %q; expected %d, %q (%s)", status, p.out.String(), c.status, c.out, p.err.String())
			}
			if c.args[0] == "--json" && strings.Count(p.err.String(), `{"at":`) != 2 {
				t.Errorf("expected two events, got %s", p.err.String())
			}
		})
	}
}

func TestRunTellsTheCommandOfItsTerm(t *testing.T) {
	t.Parallel()
	flags := fleetIn(t, privateRedis(t), "orders")
	show := []string{"--", "sh", "-c", "echo $TENURE_FLEET $TENURE_KEY $TENURE_TOKEN $TENURE_INSTANCE"}
	var last uint64
	for range 2 {
		p := running(t, "", flags, show...)
		if p.wait() != 0 {
			t.Fatal(p.err.String())
		}
		var fleet, key, instance string
		var token uint64
		if _, err := fmt.Sscan(p.out.String(), &fleet, &key, &token, &instance); err != nil {
			t.Fatalf("%q: %v", p.out.String(), err)
		}
		if fleet != "orders" || key != "job" || token <= last || !strings.Contains(instance, fmt.Sprintf(":%d:", p.cmd.Process.Pid)) {
			t.Errorf("the command saw %q after token %d", p.out.String(), last)
		}
		last = token
	}
}

func TestRunForwardsSignals(t *testing.T) {
	t.Parallel()
	flags := fleetIn(t, privateRedis(t), "f")
	// Both processes of the group hear it, and a signal that drains does not take its place.
	p := running(t, "", flags, "--drain-signal", "HUP", "--", self(t), asHearer, "outer", "inner")
	p.printed("outer on")
	p.printed("inner on")
	p.signal(syscall.SIGUSR1)
	p.printed("outer heard user defined signal 1")
	p.printed("inner heard user defined signal 1")
	p.signal(syscall.SIGTERM)
	if status := p.wait(); status != 3 || !strings.Contains(p.out.String(), "outer heard hangup") {
		t.Errorf("status %d, output %q", status, p.out.String())
	}
}

func TestRunLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	redis := privateRedis(t)
	// A child in a session of its own whose parent is gone, and one that ignores what asks it to stop.
	const brood = `sh -c 'trap "" TERM HUP; echo $$; exec sleep 1000' & (setsid sh -c 'trap "" TERM HUP; echo $$; exec sleep 1000' &); `
	for name, c := range map[string]struct {
		script string
		flags  []string
		end    func(p *process)
		status int
	}{
		"the command ends by itself": {script: brood + "sleep 0.3; exit 4", end: func(*process) {}, status: 4},
		"drain, then its timeout":    {script: `trap "" TERM; ` + brood + "while :; do sleep 0.05; done", flags: []string{"--drain-timeout", "300ms"}, end: func(p *process) { p.signal(syscall.SIGTERM) }, status: 137},
		"the second signal":          {script: `trap "" TERM; ` + brood + "while :; do sleep 0.05; done", end: func(p *process) { p.signal(syscall.SIGTERM); p.said("draining"); p.signal(syscall.SIGTERM) }, status: 137},
		"tenure run is killed":       {script: `trap "" TERM; ` + brood + "while :; do sleep 0.05; done", end: func(p *process) { p.signal(syscall.SIGKILL) }, status: 137},
		"the guardian is killed": {script: `trap "" TERM; ` + brood + "while :; do sleep 0.05; done", end: func(p *process) {
			for _, pid := range children(t, p.cmd.Process.Pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}, status: 70},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := running(t, "", fleetIn(t, redis, name), append(append(c.flags, "--ttl", "2s"), "--", "sh", "-c", c.script)...)
			eventually(t, "two children", func() bool { return strings.Count(p.out.String(), "\n") == 2 })
			c.end(p)
			if status := p.wait(); status != c.status {
				t.Errorf("status %d, expected %d: %s", status, c.status, p.err.String())
			}
			for text := range strings.FieldsSeq(p.out.String()) {
				pid, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, "the end of process "+text, func() bool { return !alive(pid) })
			}
		})
	}
}

func TestRunAgain(t *testing.T) {
	t.Parallel()
	redis := privateRedis(t)
	// It fails twice, then does well.
	script := `echo x >>"$0"; [ "$(wc -l <"$0")" -ge 3 ]`
	for name, c := range map[string]struct {
		flags  []string
		runs   int
		status int
	}{
		"never":      {nil, 1, 1},
		"on failure": {[]string{"--restart=on-failure"}, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "runs")
			p := running(t, "", fleetIn(t, redis, name), append(c.flags, "--", "sh", "-c", script, file)...)
			status := p.wait()
			text, err := os.ReadFile(file)
			if runs := strings.Count(string(text), "x"); err != nil || status != c.status || runs != c.runs {
				t.Errorf("status %d after %d runs, expected %d after %d (%v)", status, runs, c.status, c.runs, err)
			}
		})
	}
	t.Run("always", func(t *testing.T) {
		t.Parallel()
		// The third run is still there when the signal comes.
		script := `echo x >>"$0"; [ "$(wc -l <"$0")" -lt 3 ] || exec "$1" "$2" third`
		p := running(t, "", fleetIn(t, redis, "always"), "--restart", "--", "sh", "-c", script, filepath.Join(t.TempDir(), "runs"), self(t), asHearer)
		p.printed("third on")
		p.signal(syscall.SIGTERM)
		if status := p.wait(); status != 0 || !strings.Contains(p.out.String(), "third heard terminated") {
			t.Errorf("status %d, output %q", status, p.out.String())
		}
	})
}

func TestRunAndTheOthers(t *testing.T) {
	t.Parallel()
	flags := fleetIn(t, privateRedis(t), "f")
	holder := running(t, "", flags, "--", "sh", "-c", "echo on; exec sleep 1000")
	holder.printed("on")

	impatient := running(t, "", flags, "--no-wait", "--", "echo", "ran")
	if status := impatient.wait(); status != 75 || impatient.out.String() != "" || !strings.Contains(impatient.err.String(), "is held by") {
		t.Errorf("--no-wait: status %d, %q, %q", status, impatient.out.String(), impatient.err.String())
	}
	bored := running(t, "", flags, "--", "echo", "ran")
	bored.said("waiting")
	bored.signal(syscall.SIGTERM)
	if status := bored.wait(); status != 0 || bored.out.String() != "" {
		t.Errorf("stopped while it waited: status %d, %q", status, bored.out.String())
	}
	// A release is heard of: the waiting one need not wait for an expiry.
	waiting := running(t, "", flags, "--", "echo", "ran")
	waiting.said("waiting")
	holder.signal(syscall.SIGTERM)
	if status := holder.wait(); status != 128+int(syscall.SIGTERM) {
		t.Errorf("the holder ended with status %d", status)
	}
	if status := waiting.wait(); status != 0 || waiting.out.String() != "ran\n" {
		t.Errorf("the waiting one: status %d, %q", status, waiting.out.String())
	}
}

func TestRunOnce(t *testing.T) {
	t.Parallel()
	flags := fleetIn(t, privateRedis(t), "f")
	p := running(t, "", flags, "--once", "--", self(t), asHearer, "job")
	p.printed("job on")
	must(t, append([]string{"revoke", "job", "--yes"}, flags...)...)
	if status := p.wait(); status != 75 || !strings.Contains(p.out.String(), "heard terminated") || !strings.Contains(p.err.String(), "revoked") {
		t.Errorf("status %d, output %q: %s", status, p.out.String(), p.err.String())
	}
}

func TestRunWithoutAStore(t *testing.T) {
	t.Parallel()
	flags := []string{"--store", "redis://" + freeAddress(t)}
	p := running(t, "", flags, "--no-wait", "--", "echo", "ran")
	if status := p.wait(); status != 69 || p.out.String() != "" || strings.Count(p.err.String(), "\n") != 1 {
		t.Errorf("--no-wait: status %d, output %q, errors %q", status, p.out.String(), p.err.String())
	}
	// Without it, the store may come later.
	p = running(t, "", flags, "--", "echo", "ran")
	p.said("does not answer")
	p.signal(syscall.SIGTERM)
	if status := p.wait(); status != 0 || p.out.String() != "" {
		t.Errorf("status %d, output %q", status, p.out.String())
	}
}

// What only the system can refuse ends as it does in a shell, and the key is free again at once.
func TestRunWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	redis := privateRedis(t)
	nonsense := filepath.Join(t.TempDir(), "nonsense")
	if err := os.WriteFile(nonsense, []byte("\x7fELF nonsense"), 0o700); err != nil {
		t.Fatal(err)
	}
	vanishing := filepath.Join(t.TempDir(), "vanishing")
	if err := os.WriteFile(vanishing, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		script string
		status int
	}{
		"no program": {nonsense, 126},
		"gone":       {vanishing, 127},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := fleetIn(t, redis, name)
			holder := running(t, "", flags, "--", "sh", "-c", "echo on; exec sleep 1000")
			holder.printed("on")
			p := running(t, "", flags, "--restart", "--", c.script)
			p.said("waiting")
			if c.status == 127 {
				os.Remove(c.script) // it was there when it was looked for
			}
			holder.signal(syscall.SIGTERM)
			if status := p.wait(); status != c.status || !strings.Contains(p.err.String(), "cannot be started") || !strings.Contains(p.err.String(), "#!/bin/sh") {
				t.Errorf("status %d: %s", status, p.err.String())
			}
			if status, _, said := command(append([]string{"who", "job"}, flags...)...); status != 1 || !strings.Contains(said, "nobody holds") {
				t.Errorf("the key afterwards: %d %q", status, said)
			}
		})
	}
}
