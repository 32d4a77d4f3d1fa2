package servers

import "syscall"

// stopSignal is an immediate shutdown of PostgreSQL, and ends Redis just as well.
const stopSignal = syscall.SIGQUIT

// tied ends the server with this process, however that ends.
func tied(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT, Credential: as}
}
