package guard

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Config describes a command and its first deadline.
type Config struct {
	// Path is the program, as exec.LookPath finds it; Argv are its name and arguments.
	Path string
	Argv []string
	// Env is the whole environment.
	Env []string
	// Stop is the number of the signal that asks the command to stop; 0 means SIGTERM.
	Stop int
	// Grace is how long before its deadline the command is asked to stop, where no later deadline has come,
	// and how long it may take once the holder is gone. 0: it is killed without being asked.
	Grace time.Duration
	// Deadline is when the command and its descendants are killed unless a later one is told. Required.
	Deadline Instant
}

// Result is how a command came to its end.
type Result struct {
	// Status is the exit status as a shell tells it: 128 and the number of the signal for a command
	// that a signal ended.
	Status int
	// Asked says why the command was asked to stop; empty where it was not.
	Asked Cause
	// Killed: the command or descendants of it were killed.
	Killed bool
	// Err is set where the command could not be started (a *StartError where the system refused it, ErrTooLate where
	// there was no time left), or where its guardian was killed and what it left was swept.
	Err error
}

// StartError is a command that the system refused to start.
type StartError struct {
	Path  string
	Errno syscall.Errno
}

// Error names the command and the reason.
func (e *StartError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Errno) }

// ErrGuardianDied means that the guardian ended before its work was done. What it guarded was killed.
var ErrGuardianDied = errors.New("the guardian process was killed; the command was killed with it")

// ErrTooLate means that the deadline had passed before the command was started: it has not run.
var ErrTooLate = errors.New("the lease ended before the command was started")

// ErrUnsupported means that this system has no process groups.
var ErrUnsupported = errors.New("guarding a command needs a Unix system")

// Argument is the hidden command under which this program is its own guardian.
const Argument = "guardian"
