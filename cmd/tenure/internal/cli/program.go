package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Exit statuses of shells for what cannot be executed.
const (
	exitCannotExecute = 126
	exitNotFound      = 127
)

// program finds what run shall run, and refuses what could not be started, before a key is taken for it.
func program(name string) (path string, err error) {
	if path, err = exec.LookPath(name); err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		if e, ok := errors.AsType[*exec.Error](err); ok {
			err = e.Err
		}
		return "", usage("command %s: %s; give a program in PATH, or a path such as ./script.sh that may be executed", cut(name), err)
	}
	if by := interpreter(path); by != "" {
		if _, err := os.Stat(by); errors.Is(err, fs.ErrNotExist) {
			return "", usage("command %q: its first line names %q, which does not exist; mend that line (it must end with a line feed alone)", name, by)
		}
	}
	return path, nil
}

// interpreter is the program that a script's first line names; empty where there is none that can be read.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "" // a program may be executable and not readable
	}
	defer f.Close()
	const most = 256 // what Linux looks at
	head, _ := bufio.NewReaderSize(f, most).Peek(most)
	line, isScript := bytes.CutPrefix(head, []byte("#!"))
	line, _, whole := bytes.Cut(line, []byte("\n"))
	if !isScript || !whole {
		return ""
	}
	by, _, _ := strings.Cut(strings.Trim(string(line), " \t"), " ")
	by, _, _ = strings.Cut(by, "\t")
	if !filepath.IsAbs(by) {
		return ""
	}
	return by
}

// startStatus is how a shell ends for a command that the system did not start.
func startStatus(why syscall.Errno) int {
	switch why {
	case syscall.ENOENT, syscall.ENOTDIR:
		return exitNotFound
	case syscall.EACCES, syscall.EPERM, syscall.ENOEXEC, syscall.E2BIG, syscall.EISDIR, syscall.EINVAL, syscall.ELOOP:
		return exitCannotExecute
	}
	return exitInternal
}
