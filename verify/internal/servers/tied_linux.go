package servers

import (
	"os/exec"
	"syscall"
)

// tied ends the server with the test process, however that ends.
func tied(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }
