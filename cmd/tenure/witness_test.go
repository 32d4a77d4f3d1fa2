package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The witness is a command for "tenure run" that can prove that it was alive alone. It takes a lock on a file, which
// the kernel takes back when the last process that has it is dead: this one and a descendant that has a session of its own
// and ignores every signal that can be ignored. Finding the lock taken is the violation.

// Files in the witness's folder.
const (
	lockFile = "lock"
	logFile  = "log"
)

// witness is the main function of the command. It never returns by itself.
func witness(dir string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		note(dir, "overlap")
		return 1
	}
	heir := exec.Command("sh", "-c", "while :; do sleep 1; done")
	heir.ExtraFiles = []*os.File{lock}
	heir.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := heir.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	note(dir, "start")
	for {
		time.Sleep(10 * time.Millisecond)
		note(dir, "beat")
	}
}

// note appends a line in one write, which is whole whoever else writes.
func note(dir, what string) {
	f, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		os.Exit(1)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s %s %d\n", what, os.Getenv("TENURE_TOKEN"), os.Getenv("TENURE_TEST_HOST"), time.Now().UnixNano())
}

// line is one line of the witness's log.
type line struct {
	what, host string
	token      uint64
	at         int64
}

func readLog(t *testing.T, dir string) (lines []line) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, logFile))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		part := strings.Split(s.Text(), " ")
		if len(part) != 4 {
			t.Fatalf("log line %q", s.Text())
		}
		l := line{what: part[0], host: part[2]}
		if l.token, err = strconv.ParseUint(part[1], 10, 64); err == nil {
			l.at, err = strconv.ParseInt(part[3], 10, 64)
		}
		if err != nil {
			t.Fatalf("log line %q: %v", s.Text(), err)
		}
		lines = append(lines, l)
	}
	return lines
}

// starts are the lines of commands that began.
func starts(lines []line) (out []line) {
	for _, l := range lines {
		if l.what == "start" {
			out = append(out, l)
		}
	}
	return out
}

// judge says what the log proves wrong: two commands alive at once, a token that did not rise, a sign of life of an
// older one behind the start of a newer one.
func judge(lines []line) (wrong []string) {
	var newest line
	for _, l := range lines {
		switch {
		case l.what == "overlap":
			wrong = append(wrong, fmt.Sprintf("token %d on host %s found another command alive", l.token, l.host))
		case l.what == "start" && l.token <= newest.token:
			wrong = append(wrong, fmt.Sprintf("token %d on host %s began after token %d", l.token, l.host, newest.token))
		case l.what == "start":
			newest = l
		case l.token != newest.token:
			wrong = append(wrong, fmt.Sprintf("token %d on host %s was alive after token %d had begun", l.token, l.host, newest.token))
		}
	}
	return wrong
}

func TestTheWitnessSeesWhatIsWrong(t *testing.T) {
	for name, lines := range map[string][]line{
		"overlap":      {{what: "start", token: 1}, {what: "overlap", token: 2}},
		"lower token":  {{what: "start", token: 2}, {what: "start", token: 1}},
		"late beat":    {{what: "start", token: 1}, {what: "start", token: 2}, {what: "beat", token: 1}},
		"equal tokens": {{what: "start", token: 2}, {what: "start", token: 2}},
	} {
		if len(judge(lines)) == 0 {
			t.Errorf("%s: not seen", name)
		}
	}
	if wrong := judge([]line{{what: "start", token: 1}, {what: "beat", token: 1}, {what: "start", token: 2}, {what: "beat", token: 2}}); wrong != nil {
		t.Errorf("an orderly log: %v", wrong)
	}
}
