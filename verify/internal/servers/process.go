package servers

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// Require is the environment variable that turns a missing server binary from a skipped test into a failed one.
const Require = "TENURE_REQUIRE_SERVERS"

// missing skips or fails the test.
func missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv(Require) == "1" {
		tb.Fatalf("%s is not installed, and %s=1", what, Require)
	}
	tb.Skipf("%s is not installed", what)
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// output is what a server wrote. It is safe for concurrent use.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// launch starts a server and waits until it is ready. The test ends it.
func launch(tb testing.TB, cmd *exec.Cmd, ready func(log string) bool) error {
	tb.Helper()
	log := &output{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }() // ended by a signal: always an error
	end := func() { _ = cmd.Process.Signal(stopSignal); <-exited }
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		select {
		case <-exited:
			return fmt.Errorf("it exited at once: %s", log)
		default:
		}
		if ready(log.String()) {
			tb.Cleanup(end)
			return nil
		}
	}
	end()
	return fmt.Errorf("it is not ready after 30 s: %s", log)
}

// start tries to start a server, also where another process is faster to take the free port.
func start(tb testing.TB, name string, try func(port int) error) int {
	tb.Helper()
	var err error
	for range 5 {
		port := freePort(tb)
		if err = try(port); err == nil {
			return port
		}
	}
	tb.Fatalf("%s does not start: %v", name, err)
	return 0
}
