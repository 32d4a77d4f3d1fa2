package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// asHearer as the first argument makes the test binary a command for "tenure run" that says which signals it hears:
// USR1 and what else may come; HUP ends it with status 3, TERM with 0. Further arguments name it and a child of its own.
//
// It is no shell script with traps: dash forgets a signal that comes while it starts a command, and a script that waits
// in a loop starts commands all the time.
const asHearer = "test-hearer"

func hearer(name string, child ...string) int {
	heard := make(chan os.Signal, 16)
	signal.Notify(heard, syscall.SIGUSR1, syscall.SIGHUP, syscall.SIGTERM)
	if len(child) > 0 {
		cmd := exec.Command(os.Args[0], append([]string{asHearer}, child...)...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	fmt.Println(name, "on")
	for s := range heard {
		fmt.Println(name, "heard", s)
		switch s {
		case syscall.SIGHUP:
			return 3
		case syscall.SIGTERM:
			return 0
		}
	}
	return 1
}

// self is the test binary.
func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}
