//go:build !linux

package servers

import "syscall"

// stopSignal is an immediate shutdown of PostgreSQL, and ends Redis just as well.
const stopSignal = syscall.SIGQUIT

// tied ends the server with this process where the system can do that.
func tied(as *syscall.Credential) *syscall.SysProcAttr { return &syscall.SysProcAttr{Credential: as} }
