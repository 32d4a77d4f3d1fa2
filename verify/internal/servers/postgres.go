package servers

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// stopSignal is an immediate shutdown of PostgreSQL, and ends Redis just as well.
const stopSignal = syscall.SIGQUIT

// Postgres starts a PostgreSQL server without durability and returns its connection string.
func Postgres(tb testing.TB) string {
	tb.Helper()
	initdb, server := postgresBinary(tb, "initdb"), postgresBinary(tb, "postgres")
	dir, err := os.MkdirTemp("", "tenure-verify-") //nolint:usetesting // an unprivileged user must reach it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	as := unprivileged(tb, dir)
	command := func(bin string, args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
		tied(cmd)
		cmd.SysProcAttr.Credential = as
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
	port := start(tb, "postgres", func(port int) error {
		return launch(tb, command(server, "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
			"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "shared_buffers=32MB"),
			func(log string) bool { return strings.Contains(log, "ready to accept connections") })
	})
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
}

// postgresBinary finds a server program: in PATH, or where Debian puts it.
func postgresBinary(tb testing.TB, name string) string {
	tb.Helper()
	if p, err := exec.LookPath(name); err == nil {
		return p
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is a good one
	if len(found) == 0 {
		missing(tb, name)
	}
	return slices.Max(found)
}

// unprivileged is who runs the server, which refuses to run as root; the folder becomes theirs.
func unprivileged(tb testing.TB, dir string) *syscall.Credential {
	tb.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 != nil || err2 != nil {
			continue
		}
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			tb.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}
	}
	missing(tb, "an unprivileged user")
	return nil
}
