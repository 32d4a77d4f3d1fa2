//go:build unix

package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// The guardian's ends of the two pipes.
const (
	ordersFD  = 3
	reportsFD = 4
)

// Main is the main function of the guardian process. It returns an exit status: 0 when nothing of the command is left.
func Main() int {
	// The kernel sends the parent death signal when the thread ends that has started the command.
	runtime.LockOSThread()
	orders, reports := pipe(ordersFD), pipe(reportsFD)
	if orders == nil || reports == nil {
		fmt.Fprintln(os.Stderr, "tenure: guardian is a part of \"tenure run\" and started by it; use that command")
		return 2
	}
	discardSignals()
	g := &guardian{reports: reports, reaped: make(chan reaped)}
	if err := g.begin(orders); err != nil {
		r := report{Failed: err.Error(), Late: errors.Is(err, ErrTooLate)}
		if refused, ok := errors.AsType[*StartError](err); ok {
			r.Refused = int(refused.Errno)
		}
		_ = send(reports, r) // whoever is not there needs no report
		return 1
	}
	return g.run()
}

// pipe returns an inherited pipe, which is not passed on to the command, or nil.
func pipe(fd int) *os.File {
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return nil
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "pipe")
}

// discardSignals makes the guardian deaf to what ends other processes: it is told by the pipe. The signals are caught and not
// ignored, since what is ignored would stay ignored in the command; what was ignored when the guardian started, as
// nohup does, is left so.
func discardSignals() {
	c := make(chan os.Signal, 1)
	for _, s := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE,
	} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	go func() {
		for range c {
		}
	}()
}

// guardian is the state of the process. One goroutine, run, has it to itself.
type guardian struct {
	start    start
	deadline Instant
	alarm    *alarm
	orders   chan order // nil once the holder is gone
	reports  io.Writer
	reaped   chan reaped
	group    *cgroup

	pid     int
	over    bool // the command itself has ended
	asked   bool
	stopBy  Instant // when a command that was asked is killed; 0: at the deadline
	killing bool    // from now on
	killed  bool    // once at least
}

// reaped is a process that was waited for; a zero pid says that nothing is left to wait for.
type reaped struct {
	pid    int
	status syscall.WaitStatus
}

// begin reads the first order and starts the command.
func (g *guardian) begin(orders io.Reader) error {
	if err := adopt(); err != nil {
		return err
	}
	lines := json.NewDecoder(orders)
	var first order
	if err := lines.Decode(&first); err != nil {
		return fmt.Errorf("no command was told: %w", err)
	}
	if first.Start == nil {
		return errors.New("no command was told")
	}
	var err error
	if g.alarm, err = newAlarm(); err != nil {
		return err
	}
	g.start, g.deadline = *first.Start, first.Start.Deadline
	if Now() >= g.deadline {
		return ErrTooLate
	}
	if err := g.launch(); err != nil {
		return err
	}
	hurry()
	g.tell(report{Started: g.pid, Cgroup: g.group.path()})
	g.orders = make(chan order)
	go func() {
		defer close(g.orders)
		for {
			var o order
			if lines.Decode(&o) != nil {
				return
			}
			g.orders <- o
		}
	}()
	go g.reap()
	return nil
}

// reap waits for every process that is or becomes a child of the guardian.
func (g *guardian) reap() {
	for {
		var r reaped
		var err error
		r.pid, err = syscall.Wait4(-1, &r.status, syscall.WUNTRACED, nil)
		switch err {
		case nil:
			g.reaped <- r
		case syscall.EINTR:
		default: // ECHILD: nothing is left
			g.reaped <- reaped{}
			return
		}
	}
}

// run guards until nothing is left of the command.
func (g *guardian) run() int {
	g.act(Now()) // the first deadline counts although nobody may ever tell a second one
	for {
		select {
		case o, ok := <-g.orders:
			if !ok {
				g.orders = nil
				g.ask(CauseOrphan, g.start.Stop, Now().Add(g.start.Grace))
				break
			}
			g.obey(o)
		case r := <-g.reaped:
			if r.pid == 0 {
				g.group.remove()
				return 0
			}
			g.wasReaped(r)
		case <-g.alarm.C:
		}
		g.act(Now())
	}
}

func (g *guardian) obey(o order) {
	switch {
	case o.Deadline != 0:
		g.deadline = max(g.deadline, o.Deadline)
	case o.Signal != 0:
		g.signal(syscall.Signal(o.Signal))
	case o.Stop != nil:
		if g.asked {
			g.stopBy = earlier(g.stopBy, o.Stop.By)
		}
		g.ask(CauseOrder, o.Stop.Signal, o.Stop.By)
	case o.Kill:
		g.killing = true
	}
}

// act does what is due and arms the alarm for what comes next.
func (g *guardian) act(now Instant) {
	end := earlier(g.deadline, g.stopBy)
	next := end
	switch {
	case g.killing || now >= end:
		g.kill()
		next = now.Add(sweepPause)
	case !g.asked && g.start.Grace > 0:
		askAt := g.deadline.Add(-g.start.Grace)
		if now >= askAt {
			g.ask(CauseDeadline, g.start.Stop, 0)
		} else {
			next = min(next, askAt)
		}
	}
	if g.alarm.set(next) != nil {
		g.kill() // without a clock nothing can be promised
	}
}

// earlier is the earlier of two instants, of which zero is none.
func earlier(a, b Instant) Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// ask tells the command to stop, once, until by.
func (g *guardian) ask(why Cause, sig int, by Instant) {
	if g.asked {
		return
	}
	g.asked, g.stopBy = true, by
	g.tell(report{Asked: why})
	if g.start.Grace == 0 && why != CauseOrder {
		g.killing = true
		return
	}
	g.signal(syscall.Signal(sig))
	g.signal(syscall.SIGCONT) // a stopped process would not hear
}

// signal sends to the command's whole process group.
func (g *guardian) signal(sig syscall.Signal) { _ = syscall.Kill(-g.pid, sig) }

// kill ends everything that descends from the guardian. It is repeated until nothing is left.
func (g *guardian) kill() {
	if !g.killed {
		g.tell(report{Killed: true})
	}
	g.killing, g.killed = true, true
	g.group.kill()
	killTree(g.pid, os.Getpid())
}

func (g *guardian) wasReaped(r reaped) {
	switch {
	case r.pid != g.pid:
	case r.status.Stopped():
		if g.start.Terminal != 0 && r.status.StopSignal() == syscall.SIGTSTP {
			g.signal(syscall.SIGCONT) // Ctrl-Z: nobody could bring it back, and it would keep the key
		}
	case !g.over:
		g.over = true
		g.giveTerminalBack()
		status := exitStatus(r.status)
		g.tell(report{Ended: &status})
		g.ask(CauseEnd, g.start.Stop, Now().Add(g.start.Grace)) // what it left behind
	}
}

func exitStatus(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// tell reports. A holder that is gone or does not listen changes nothing here.
func (g *guardian) tell(r report) { _ = send(g.reports, r) }
