package faults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// server is one private server process that can be hurt. It keeps its port and its folder across restarts.
type server struct {
	t     *testing.T
	bin   string
	args  []string
	dir   string
	port  int
	cred  *syscall.Credential
	ready func(s *server) bool
	cmd   *exec.Cmd
	gone  chan struct{}
}

func (s *server) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// start starts the process (again) and waits until it answers.
func (s *server) start() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(s.t, err)
	defer log.Close()
	s.cmd = exec.Command(s.bin, s.args...)
	s.cmd.Dir, s.cmd.Env = s.dir, append(os.Environ(), "LC_ALL=C")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	must(s.t, s.cmd.Start())
	gone, cmd := make(chan struct{}), s.cmd
	s.gone = gone
	go func() { _ = cmd.Wait(); close(gone) }() // ended by a signal: always an error
	for end := time.Now().Add(30 * time.Second); !s.ready(s); time.Sleep(10 * time.Millisecond) {
		select {
		case <-gone:
			s.fail("it exited at once")
		default:
		}
		if time.Now().After(end) {
			s.fail("it does not answer after 30 s")
		}
	}
}

func (s *server) fail(why string) {
	s.t.Helper()
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	s.t.Fatalf("%s: %s\n%s", filepath.Base(s.bin), why, tail(text, 2000))
}

func (s *server) signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) } // it may be gone already

// stop ends the process with the signal and waits for it.
func (s *server) stop(sig syscall.Signal) {
	s.signal(sig)
	<-s.gone
}

// end is for the test's cleanup.
func (s *server) end() {
	s.signal(syscall.SIGCONT)
	s.stop(syscall.SIGKILL)
}

// binary finds a server's program; a missing one skips the test, or fails it where servers are required.
func binary(t *testing.T, name string) string {
	t.Helper()
	if p, err := exec.LookPath(name); err == nil {
		return p
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is a good one
	found = append(found, existing("/usr/sbin/"+name)...)
	if len(found) > 0 {
		return slices.Max(found)
	}
	if os.Getenv("TENURE_REQUIRE_SERVERS") == "1" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

func existing(path string) []string {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []string{path}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startRedis starts a redis-server. Without further arguments it keeps its data in an append-only file.
func startRedis(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{t: t, bin: binary(t, "redis-server"), dir: t.TempDir(), port: freePort(t)}
	if len(args) == 0 {
		args = []string{"--appendonly", "yes", "--appendfsync", "always"}
	}
	s.args = append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir, "--save", ""}, args...)
	s.ready = func(s *server) bool { return s.cli("PING") == "PONG" }
	s.start()
	t.Cleanup(s.end)
	return s
}

// cli sends one command; an unreachable server answers nothing.
func (s *server) cli(args ...string) string {
	all := append([]string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.port)}, args...)
	out, _ := exec.Command(binary(s.t, "redis-cli"), all...).Output() // an empty answer says it
	return strings.TrimSpace(string(out))
}

// until waits for an answer that contains the text.
func (s *server) until(text string, args ...string) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(s.cli(args...), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%v never answered %q: %s", args, text, s.cli(args...))
		}
	}
}

// startPostgres makes a cluster and starts it. It keeps what it has acknowledged.
func startPostgres(t *testing.T, settings ...string) *server {
	t.Helper()
	s := emptyPostgres(t)
	s.run("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	for _, line := range settings {
		s.configure(line)
	}
	s.start()
	t.Cleanup(s.end)
	return s
}

// emptyPostgres is a server without data.
func emptyPostgres(t *testing.T) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "tenure-faults-") //nolint:usetesting // an unprivileged user must reach it
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &server{t: t, bin: binary(t, "postgres"), dir: dir, port: freePort(t)}
	s.cred = unprivileged(t, dir)
	s.args = []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "shared_buffers=32MB"}
	s.ready = func(s *server) bool { return s.sql("SELECT 1") == "1" }
	return s
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

func (s *server) dsn() string { return dsn(s.addr()) }

func dsn(addr string) string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable&connect_timeout=2", addr)
}

func (s *server) configure(line string) {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	must(s.t, err)
	_, err = f.WriteString(line + "\n")
	must(s.t, err)
	must(s.t, f.Close())
}

// run runs one of the server's programs as its user.
func (s *server) run(name string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(binary(s.t, name), args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// sql runs a statement; an unreachable server answers nothing.
func (s *server) sql(text string) string {
	out, _ := exec.Command(binary(s.t, "psql"), s.dsn(), "-XAtqc", text).Output() // an empty answer says it
	return strings.TrimSpace(string(out))
}

// unprivileged is who runs the server, which refuses to run as root; the folder becomes theirs.
func unprivileged(t *testing.T, dir string) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	must(t, err)
	uid, err := strconv.Atoi(u.Uid)
	must(t, err)
	gid, err := strconv.Atoi(u.Gid)
	must(t, err)
	must(t, os.Chown(dir, uid, gid))
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}
}
