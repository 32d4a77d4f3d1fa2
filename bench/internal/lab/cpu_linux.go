package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU is the processor time that a process and all of its threads have used.
func CPU(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %d has no schedstat", pid)
	}
	var sum time.Duration
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// BackendCPU is the processor time of a PostgreSQL server's processes that serve clients.
func BackendCPU(server int) (time.Duration, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, f := range stats {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // it ended
		}
		// "pid (name) state ppid ...": the name may have blanks, so fields are counted from its end.
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(server) {
			continue
		}
		title, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err != nil || !strings.Contains(string(title), "127.0.0.1") {
			continue // a background process
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			continue
		}
		if d, err := CPU(pid); err == nil {
			sum += d
		}
	}
	return sum, nil
}
