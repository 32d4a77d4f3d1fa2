package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/tenure-go/tenure/cmd/tenure/internal/cli"
)

// Environment variables that make the test binary be something else.
const (
	asProgram = "TENURE_TEST_PROGRAM" // the program under test; inherited by its guardian and its suite
	asWitness = "TENURE_TEST_WITNESS" // a command for "tenure run"; see witness_test.go
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" { // the program has what its test gives it
		for _, name := range []string{"TENURE_STORE", "TENURE_FLEET", "TENURE_DRAIN_TOKEN"} {
			os.Unsetenv(name)
		}
	}
	switch {
	case len(os.Args) > 2 && os.Args[1] == asHearer:
		os.Exit(hearer(os.Args[2], os.Args[3:]...))
	case os.Getenv(asWitness) != "" && len(os.Args) == 1:
		os.Exit(witness(os.Getenv(asWitness)))
	case os.Getenv(asProgram) != "":
		main()
	}
	logging.Disable() // as the program does
	flag.Parse()
	// These tests wait for processes and leases most of the time, not for this one.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what must happen: only a broken program takes as long.
const patience = 30 * time.Second

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// output collects what a process prints while it runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// process is the program under test, in a process group of its own.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err output
	ended    chan struct{}
	status   int // once ended is closed
}

// start starts the program. Whatever is left of it is ended with the test.
func start(t *testing.T, stdin string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(self(t), args...), ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	p.cmd.Stdin = strings.NewReader(stdin)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = 10 * time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the status tells
		if s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
			p.status = s.ExitStatus()
			if s.Signaled() {
				p.status = 128 + int(s.Signal())
			}
		}
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL) // its guardian ends the command
		p.signal(syscall.SIGCONT)
		<-p.ended
	})
	return p
}

// signal sends to the program alone, where it still runs.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.ended:
	default:
		_ = syscall.Kill(p.cmd.Process.Pid, sig)
	}
}

// wait returns the exit status.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the program has not ended; it said: %s", p.err.String())
	}
	return p.status
}

// said waits until standard error contains the text.
func (p *process) said(text string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%q on standard error, which is %q", text, p.err.String()), func() bool { return strings.Contains(p.err.String(), text) })
}

// printed waits until standard output contains the text.
func (p *process) printed(text string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%q on standard output", text), func() bool { return strings.Contains(p.out.String(), text) })
}

// command runs the command line in this process.
func command(args ...string) (status int, out, err string) {
	var o, e bytes.Buffer
	status = cli.Main(args, cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return status, o.String(), e.String()
}

// must runs a command that has to work, and returns what it prints.
func must(t *testing.T, args ...string) string {
	t.Helper()
	status, out, err := command(args...)
	if status != 0 {
		t.Fatalf("tenure %s: status %d\n%s%s", strings.Join(args, " "), status, out, err)
	}
	return out
}

// server is a private redis-server.
type server struct {
	url string
	cmd *exec.Cmd
}

func privateRedis(t *testing.T, settings ...string) *server {
	t.Helper()
	exe, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("TENURE_REQUIRE_SERVERS") == "1" {
			t.Fatal(err)
		}
		t.Skip("redis-server is not installed")
	}
	for range 5 { // another process may take the free port first
		address := freeAddress(t)
		_, port, _ := net.SplitHostPort(address)
		s := &server{url: "redis://" + address + "/0"}
		s.cmd = exec.Command(exe, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir()}, settings...)...)
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := strconv.Itoa(s.cmd.Process.Pid)
		t.Cleanup(func() {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		})
		for range 500 {
			if s.isProcess(pid) {
				return s
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	t.Fatal("redis-server does not start")
	return nil
}

// isProcess tells whether the server that answers is the one that was started.
func (s *server) isProcess(pid string) bool {
	c := s.client()
	defer c.Close()
	info, err := c.Info(context.Background(), "server").Result()
	return err == nil && strings.Contains(info, "process_id:"+pid+"\r")
}

func (s *server) client() *redis.Client {
	o, err := redis.ParseURL(s.url)
	if err != nil {
		panic(err)
	}
	o.MaxRetries, o.DialTimeout = -1, time.Second
	return redis.NewClient(o)
}

// signal freezes (SIGSTOP) and thaws (SIGCONT) the server.
func (s *server) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// keys are all keys in the server.
func (s *server) keys(t *testing.T) []string {
	t.Helper()
	c := s.client()
	defer c.Close()
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// alive tells whether a process runs.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	_, rest, _ := cutLast(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// cutLast is strings.Cut at the last separator: a process may have any name.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
