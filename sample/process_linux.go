package main

import (
	"os/exec"
	"syscall"
)

// tie makes the pod die with its parent, however the parent dies, and keeps the terminal's Ctrl-C
// from it: the parent decides how the fleet ends. The signal comes when the *thread* that started the
// pod ends, so pods are started from one that never does; see fleet.starter.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
