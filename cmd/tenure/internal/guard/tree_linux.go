package guard

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of whatever its descendants leave behind.
func adopt() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// dieWithParent has the kernel kill the command when the guardian ends.
func dieWithParent(sys *syscall.SysProcAttr) { sys.Pdeathsig = syscall.SIGKILL }

// process is one line of the process table.
type process struct {
	pid, parent int
	state       byte
	started     string // in ticks since the machine's start: with the pid, it names a process for good
}

// read returns a process; false where it is gone.
func read(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name may hold anything
	const parent, started = 1, 19
	if len(fields) <= started {
		return process{}, false
	}
	ppid, err := strconv.Atoi(string(fields[parent]))
	return process{pid: pid, parent: ppid, state: fields[0][0], started: string(fields[started])}, err == nil
}

// descendants returns what descends from root, zombies included, parents first.
func descendants(root int) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := read(pid); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	out := slices.Clone(children[root])
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i].pid]...)
	}
	return out
}

// killTree kills the command and what descends from root now. What is forked meanwhile is met by the next call.
func killTree(_, root int) {
	for _, p := range descendants(root) {
		if p.state != 'Z' {
			killExactly(p)
		}
	}
}

// killExactly kills a process unless its number has gone to another one since it was read.
func killExactly(p process) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if err == unix.ENOSYS {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
		return
	}
	defer unix.Close(fd)
	if now, ok := read(p.pid); ok && now.started == p.started {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// hurry puts this process before others, where that is allowed: it has next to nothing to do, and must do it in time
// however busy the machine is. Priorities belong to threads, and later ones inherit them; the command, which was started
// before, keeps its own.
func hurry() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, -20)
		}
	}
}

// sweep kills and reaps what descends from this process, and reports whether anything is left.
func sweep() (left bool) {
	self := os.Getpid()
	for _, p := range descendants(self) {
		left = true
		if p.state != 'Z' {
			killExactly(p)
		} else if p.parent == self {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}
	}
	return left
}
