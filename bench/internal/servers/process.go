package servers

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

// patience is how long a server may take to start.
const patience = 30 * time.Second

// Process is a server that was started here.
type Process struct {
	// Port is where it listens on 127.0.0.1.
	Port int
	cmd  *exec.Cmd
	gone chan struct{}
	dir  string
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop ends the server and deletes its folder.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(stopSignal) // it may have ended already
	<-p.gone
	_ = os.RemoveAll(p.dir)
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

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// launch starts a server on a free port and waits until it says that it is ready. Another process may be
// faster to take the port, so it tries some.
func launch(dir, ready string, command func(port int) *exec.Cmd) (*Process, error) {
	var last error
	for range 5 {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		p, err := try(dir, ready, port, command(port))
		if err == nil {
			return p, nil
		}
		last = err
	}
	return nil, last
}

func try(dir, ready string, port int, cmd *exec.Cmd) (*Process, error) {
	log := &output{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{Port: port, cmd: cmd, gone: make(chan struct{}), dir: dir}
	go func() { _ = cmd.Wait(); close(p.gone) }() // ended by a signal: always an error
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.gone:
			return nil, fmt.Errorf("%s exited at once: %s", cmd.Path, log)
		default:
		}
		if bytes.Contains([]byte(log.String()), []byte(ready)) {
			return p, nil
		}
	}
	_ = cmd.Process.Signal(stopSignal)
	<-p.gone
	return nil, fmt.Errorf("%s is not ready after %v: %s", cmd.Path, patience, log)
}
