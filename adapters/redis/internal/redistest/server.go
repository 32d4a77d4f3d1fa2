package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RequireServers is the environment variable that turns a missing server binary from a skipped test
// into a failed one.
const RequireServers = "TENURE_REQUIRE_SERVERS"

// Server is one private redis-server process.
type Server struct {
	// Addr is its host and port; Dir is where it keeps its files.
	Addr, Dir string

	tb   testing.TB
	args []string
	port int

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a server without persistence. Further settings are given as on its command line,
// such as "--maxmemory", "6mb".
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	path := binary(tb)
	dir := tb.TempDir()
	var err error
	for range 5 { // another process may take the free port first
		port := freePort(tb)
		s := &Server{tb: tb, Dir: dir, port: port, Addr: fmt.Sprintf("127.0.0.1:%d", port)}
		s.args = append([]string{path, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
			"--save", "", "--appendonly", "no", "--enable-debug-command", "yes", "--logfile", s.log()}, args...)
		if err = s.launch(); err == nil {
			tb.Cleanup(s.Stop)
			return s
		}
	}
	tb.Fatalf("redis-server does not start: %v", err)
	return nil
}

func binary(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err == nil {
		return path
	}
	if os.Getenv(RequireServers) == "1" {
		tb.Fatalf("redis-server is not installed, and %s=1", RequireServers)
	}
	tb.Skip("redis-server is not installed")
	return ""
}

func freePort(tb testing.TB) int {
	tb.Helper()
	for range 50 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if port < 55000 { // a cluster node also listens 10 000 higher
			return port
		}
	}
	tb.Fatal("no free port below 55000")
	return 0
}

// ready is what a server, or a Sentinel, writes to its log when it takes connections. Asking the port would not
// do: another server may have been faster to take it.
var ready = [][]byte{[]byte("Ready to accept connections"), []byte("Sentinel ID is")}

func (s *Server) launch() error {
	before, _ := os.ReadFile(s.log())
	cmd := exec.Command(s.args[0], s.args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // not even a crashed test leaves a server behind
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }() // ended by a signal: always an error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		log, _ := os.ReadFile(s.log())
		log = log[min(len(before), len(log)):]
		select {
		case <-exited:
			return fmt.Errorf("it exited at once: %s", log)
		default:
		}
		if slices.ContainsFunc(ready, func(line []byte) bool { return bytes.Contains(log, line) }) {
			s.mu.Lock()
			s.cmd, s.exited = cmd, exited
			s.mu.Unlock()
			return nil
		}
	}
	_ = cmd.Process.Kill()
	return fmt.Errorf("it is not ready after 20 s")
}

func (s *Server) log() string { return s.Dir + "/redis.log" }

func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		if err := s.cmd.Process.Signal(sig); err != nil {
			s.tb.Errorf("signal %v: %v", sig, err)
		}
	}
}

// Freeze stops the process without ending it: its connections stay open and nothing answers.
// Thaw lets it go on.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

// Stop kills the process, as a crash would, and waits until it is gone.
func (s *Server) Stop() {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.cmd = nil
	s.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-exited
	}
}

// Restart starts the process again, on the same port and with the files that it left. Call Stop before.
func (s *Server) Restart() {
	s.tb.Helper()
	if err := s.launch(); err != nil {
		s.tb.Fatalf("redis-server does not start again: %v", err)
	}
}

// Options are a client's options for this server. Retries are off, so that a test sees each outcome.
func (s *Server) Options() *redis.Options { return Options(s.Addr) }

// Client returns a client for this server that is closed when the test ends.
func (s *Server) Client() *redis.Client { return Client(s.tb, s.Options()) }

// Admin runs a command and fails the test where that fails.
func (s *Server) Admin(args ...any) any {
	s.tb.Helper()
	c := redis.NewClient(s.Options())
	defer c.Close()
	v, err := c.Do(context.Background(), args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.tb.Fatalf("%v: %v", args, err)
	}
	return v
}

// Client returns a client that is closed when the test ends.
func Client(tb testing.TB, o *redis.Options) *redis.Client {
	c := redis.NewClient(o)
	tb.Cleanup(func() { c.Close() })
	return c
}
