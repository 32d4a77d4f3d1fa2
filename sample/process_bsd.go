//go:build unix && !linux

package main

import (
	"os/exec"
	"syscall"
)

// tie keeps the terminal's Ctrl-C from the pod. It ends with its parent when its standard input does.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
