package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-go/tenure/cmd/tenure/internal/cli"
)

// What cannot be printed was not answered.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	flags := fleetIn(t, privateRedis(t), "f")
	job := running(t, "", flags, "--", "sh", "-c", "echo on; exec sleep 1000")
	job.printed("on")
	for _, line := range []string{
		"status FLEET", "status --json FLEET", "status --watch FLEET", "who job FLEET", "provision FLEET", "check --clock 0 FLEET", "migrate --print", "version",
		"--help", "run --help", "help status", "completion bash", "revoke job --yes FLEET",
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		defer full.Close()
		line, whole := strings.CutSuffix(line, " FLEET")
		args := strings.Fields(line)
		if whole {
			args = append(args, flags...)
		}
		var said output
		status := cli.Main(args, cli.Streams{In: strings.NewReader(""), Out: full, Err: &said})
		if status != 1 || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "no space left") {
			t.Errorf("tenure %v: %d %q", args, status, said.String())
		}
	}
}

// Under --json a failure is an object, and the only one; the line on standard error stays.
func TestFailuresAsJSON(t *testing.T) {
	t.Parallel()
	nowhere := "redis://" + freeAddress(t)
	for _, args := range [][]string{{"status"}, {"status", "--watch"}, {"who", "k"}, {"provision"}, {"check"}, {"drain", "--instance", "i"}, {"revoke", "k", "--yes"}, {"verify"}} {
		status, out, said := command(append(args, "--json", "--store", nowhere)...)
		v := object(t, out)
		text, _ := v["error"].(string)
		if status != 3 || v["status"] != float64(3) || len(v) != 2 || said != "tenure: "+text+"\n" || !strings.Contains(text, "does not answer") {
			t.Errorf("tenure %v: %d %q %q", args, status, out, said)
		}
	}
	if status, out, said := command("status", "--nonsense", "--json"); status != 2 || object(t, out)["status"] != float64(2) || said == "" {
		t.Errorf("a flag that does not exist: %d %q %q", status, out, said)
	}
	if status, out, said := command("migrate", "--print", "--json"); status != 2 || object(t, out)["status"] != float64(2) || !strings.Contains(said, "--print prints SQL, not JSON: leave --json out") {
		t.Errorf("SQL as JSON: %d %q %q", status, out, said)
	}
	// Of run it goes to standard error, as all that it says.
	p := running(t, "", []string{"--store", nowhere}, "--no-wait", "--json", "--", "echo", "ran")
	status := p.wait()
	lines := strings.Split(strings.TrimSpace(p.err.String()), "\n")
	if v := object(t, lines[len(lines)-1]); status != 69 || p.out.String() != "" || v["status"] != float64(69) || v["error"] == nil {
		t.Errorf("run: %d %q %q", status, p.out.String(), p.err.String())
	}
	// What has an answer prints it alone.
	flags := fleetIn(t, privateRedis(t), "f")
	status, out, _ := command(append([]string{"who", "free", "--json"}, flags...)...)
	v := object(t, out)
	if _, since := v["since"]; status != 1 || v["state"] != "free" || since {
		t.Errorf("who of a free key: %d %q", status, out)
	}
}

// The time of the command itself is named where the store was given no more.
func TestTimeoutIsNamed(t *testing.T) {
	t.Parallel()
	s := privateRedis(t)
	s.signal(t, syscall.SIGSTOP)
	for _, args := range [][]string{{"status"}, {"who", "k"}, {"provision"}, {"drain", "--instance", "i"}, {"revoke", "k", "--yes"}} {
		for _, timeout := range []string{"1ms", "1ns"} {
			status, _, said := command(append(args, "--store", s.url, "--timeout", timeout)...)
			if status != 3 || !strings.Contains(said, "did not answer within "+timeout) || !strings.Contains(said, "--timeout") {
				t.Errorf("tenure %v: %d %q", args, status, said)
			}
		}
	}
	s.signal(t, syscall.SIGCONT)
}

// What a revocation does to the command of "tenure run" is said before it is done.
func TestRevokeOfARunSaysWhatHappens(t *testing.T) {
	t.Parallel()
	out := must(t, "revoke", "--help")
	for _, want := range []string{"drain signal", "deadline", "without a drain"} {
		if !strings.Contains(out, want) {
			t.Errorf("the help does not say %q", want)
		}
	}
}

func TestWatchIsInterrupted(t *testing.T) {
	t.Parallel()
	flags := fleetIn(t, privateRedis(t), "f")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := start(t, "", nil, append([]string{"status", "--watch", "--interval", time.Minute.String()}, flags...)...)
		p.printed("0 workloads")
		p.signal(sig)
		if status := p.wait(); status != 130 || p.err.String() != "" {
			t.Errorf("%v: status %d, %q", sig, status, p.err.String())
		}
	}
}
