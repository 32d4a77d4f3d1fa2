package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// tie keeps the console's Ctrl-C from the pod. It ends with its parent when its standard input does.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

var errPause = errors.New("this system cannot stop a process and let it go on")

func pauseProcess(*os.Process) error  { return errPause }
func resumeProcess(*os.Process) error { return errPause }
