//go:build !linux

package lab

import (
	"errors"
	"time"
)

var errNoCPU = errors.New("the processor time of another process is read from /proc: run this on Linux")

// CPU is the processor time that a process and all of its threads have used.
func CPU(int) (time.Duration, error) { return 0, errNoCPU }

// BackendCPU is the processor time of a PostgreSQL server's processes that serve clients.
func BackendCPU(int) (time.Duration, error) { return 0, errNoCPU }
