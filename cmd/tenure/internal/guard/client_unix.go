//go:build unix

package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Guard is the holder's side: one command under one guardian. It is safe for concurrent use.
type Guard struct {
	cmd   *exec.Cmd
	path  string
	asked chan Cause
	done  chan struct{}

	mu     sync.Mutex
	orders *os.File
	cgroup string
	pid    int
	result Result // complete once done is closed
}

// writeLimit bounds one message to a guardian that does not read.
const writeLimit = time.Second

// Start starts a guardian and has it start the command. It returns at once; a command that cannot be started shows
// in the Result.
func Start(cfg Config) (*Guard, error) {
	if err := adopt(); err != nil {
		return nil, err
	}
	theirOrders, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirOrders.Close()
	reports, theirReports, err := os.Pipe()
	if err != nil {
		orders.Close()
		return nil, err
	}
	defer theirReports.Close()
	cmd := exec.Command(self(), Argument)
	cmd.Args[0] = "tenure" // as it reads in the process table
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ours()
	cmd.ExtraFiles = []*os.File{theirOrders, theirReports}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		orders.Close()
		reports.Close()
		return nil, fmt.Errorf("guardian: %w", err)
	}
	g := &Guard{cmd: cmd, path: cfg.Path, asked: make(chan Cause, 8), done: make(chan struct{}), orders: orders}
	if cfg.Stop == 0 {
		cfg.Stop = int(syscall.SIGTERM)
	}
	g.order(order{Start: &start{
		Path: cfg.Path, Argv: cfg.Argv, Env: cfg.Env, Stop: cfg.Stop, Grace: cfg.Grace, Deadline: cfg.Deadline, Terminal: terminal(),
	}})
	go g.listen(reports)
	return g, nil
}

// Extend lets the command run until at. An earlier instant than one told before has no effect.
func (g *Guard) Extend(at Instant) { g.order(order{Deadline: at}) }

// Signal sends a signal to the command's process group.
func (g *Guard) Signal(sig int) { g.order(order{Signal: sig}) }

// Stop asks the command to stop, and has it killed at by, or at its deadline if that is earlier.
func (g *Guard) Stop(sig int, by Instant) { g.order(order{Stop: &stopBy{Signal: sig, By: by}}) }

// Kill has the command and its descendants killed now.
func (g *Guard) Kill() { g.order(order{Kill: true}) }

// Abort kills a guardian that does not act, and with it all that it guards.
func (g *Guard) Abort() { _ = g.cmd.Process.Kill() }

// Asked tells when and why the guardian has asked the command to stop.
func (g *Guard) Asked() <-chan Cause { return g.asked }

// Done is closed when nothing of the command is left.
func (g *Guard) Done() <-chan struct{} { return g.done }

// Result says how it ended. Call it after Done is closed.
func (g *Guard) Result() Result { return g.result }

// order tells the guardian. Where that fails the pipe is closed, upon which the guardian ends the command by itself.
func (g *Guard) order(o order) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.orders == nil {
		return
	}
	err := g.orders.SetWriteDeadline(time.Now().Add(writeLimit))
	if err == nil {
		err = send(g.orders, o)
	}
	if err != nil {
		g.orders.Close()
		g.orders = nil
	}
}

// listen follows the guardian until it has ended.
func (g *Guard) listen(reports *os.File) {
	for lines := json.NewDecoder(reports); ; {
		var r report
		if lines.Decode(&r) != nil {
			break
		}
		g.hear(r)
	}
	reports.Close()
	err := g.cmd.Wait()
	if err != nil && g.result.Err == nil {
		g.result.Err = ErrGuardianDied
		g.result.Killed = true
		// The kernel has killed the command. The rest came to this process.
		killCgroup(g.cgroup)
		for sweep() {
			time.Sleep(sweepPause)
		}
	}
	g.mu.Lock()
	if g.orders != nil {
		g.orders.Close()
		g.orders = nil
	}
	g.mu.Unlock()
	close(g.done)
}

func (g *Guard) hear(r report) {
	switch {
	case r.Started != 0:
		g.pid, g.cgroup = r.Started, r.Cgroup
	case r.Asked != "":
		if r.Asked != CauseEnd {
			g.result.Asked = r.Asked
		}
		select {
		case g.asked <- r.Asked:
		default:
		}
	case r.Killed:
		g.result.Killed = true
	case r.Ended != nil:
		g.result.Status = *r.Ended
	case r.Refused != 0:
		g.result.Err = &StartError{Path: g.path, Errno: syscall.Errno(r.Refused)}
	case r.Late:
		g.result.Err = ErrTooLate
	case r.Failed != "":
		g.result.Err = errors.New(r.Failed)
	}
}
