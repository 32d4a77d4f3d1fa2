//go:build unix

package cli

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalNumber reads a signal's name, with or without SIG, or its number.
func signalNumber(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, n > 0 && unix.SignalName(syscall.Signal(n)) != ""
	}
	name := strings.ToUpper(text)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	n := unix.SignalNum(name)
	return int(n), n != 0
}

// cannotBeHandled tells of the signals that no process ever sees.
func cannotBeHandled(n int) bool {
	return syscall.Signal(n) == syscall.SIGKILL || syscall.Signal(n) == syscall.SIGSTOP
}

// relay passes signals on to the command, and takes a second SIGTERM or SIGINT for the end of patience. The first one
// of those ends the context of the program. What was ignored when the program was started stays so.
func (l *leader) relay() (stop func()) {
	ends := make(chan os.Signal, 4)
	passed := make(chan os.Signal, 16)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGPIPE} {
		if !signal.Ignored(s) {
			signal.Notify(passed, s)
		}
	}
	quit := make(chan struct{})
	go func() {
		var once sync.Once
		for n := 0; ; {
			select {
			case <-quit:
				return
			case <-ends:
				if n++; n > 1 {
					once.Do(func() { close(l.kill) })
				}
			case s := <-passed:
				if s == syscall.SIGPIPE {
					continue // nobody reads what this program says; that is no reason to end
				}
				select {
				case l.forward <- int(s.(syscall.Signal)):
				default: // no command runs, or it gets more signals than it can take
				}
			}
		}
	}()
	return func() {
		signal.Stop(ends)
		signal.Stop(passed)
		close(quit)
	}
}
