package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// childrenOf returns the processes that pid has started.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, state := parentOf(child); parent == pid && state != 'Z' {
			out = append(out, child)
		}
	}
	return out
}

// parentOf reads a process's parent and state; 0 where it is gone.
func parentOf(pid int) (parent int, state byte) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name may hold anything
	parent, err = strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0, 0
	}
	return parent, fields[0][0]
}

func alive(pid int) bool {
	_, state := parentOf(pid)
	return state != 0 && state != 'Z'
}

func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
