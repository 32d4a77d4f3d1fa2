//go:build unix

package guard

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch starts the command in a process group of its own, with the guardian's standard streams.
func (g *guardian) launch() error {
	g.group = newCgroup()
	sys := &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(sys)
	if g.start.Terminal != 0 {
		sys.Foreground, sys.Ctty = true, 0
	}
	attr := &syscall.ProcAttr{Env: g.start.Env, Files: []uintptr{0, 1, 2}, Sys: sys}
	var err error
	if g.group.use(sys) {
		g.pid, err = syscall.ForkExec(g.start.Path, g.start.Argv, attr)
		if err == nil {
			return nil
		}
		g.group.leave(sys) // it may be the group that is in the way
	}
	if g.pid, err = syscall.ForkExec(g.start.Path, g.start.Argv, attr); err != nil {
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			return &StartError{Path: g.start.Path, Errno: errno}
		}
		return fmt.Errorf("%s: %w", g.start.Path, err)
	}
	return nil
}

// terminal returns the process group that has the terminal on standard input, if that is this process's group;
// otherwise 0.
func terminal() int {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	if err != nil || group != syscall.Getpgrp() {
		return 0
	}
	return group
}

// giveTerminalBack makes the holder's group the terminal's again.
func (g *guardian) giveTerminalBack() {
	if g.start.Terminal == 0 {
		return
	}
	signal.Ignore(syscall.SIGTTOU) // a background process that changes this is stopped otherwise
	_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, g.start.Terminal)
}

// ours are the standard streams of the guardian, which the command gets.
func ours() (in, out, err *os.File) { return os.Stdin, os.Stdout, os.Stderr }
