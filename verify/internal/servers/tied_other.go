//go:build !linux

package servers

import (
	"os/exec"
	"syscall"
)

// tied ends the server with the test process where the system can do that.
func tied(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{} }
