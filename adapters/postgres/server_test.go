package postgresstore

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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

	"github.com/jackc/pgx/v5"
)

// shared is the private server that most tests use, each in a fleet or a schema of its own. Tests
// that hurt a server start another. Nothing here touches the system's own server.
var shared *server

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("TENURE_MIGRATE_DSN") != "" { // a process of TestMigrateTogether
		os.Exit(m.Run())
	}
	code := func() int {
		var err error
		shared, err = startServer(serverConfig{})
		var missing *missingError
		switch {
		case errors.As(err, &missing) && os.Getenv("TENURE_REQUIRE_SERVERS") != "1":
			fmt.Println("tests on a real server are skipped:", err)
			_ = flag.Set("test.skip", "^Example")
		case err != nil:
			fmt.Println("cannot start a private server:", err)
			return 1
		default:
			defer shared.remove()
			os.Setenv("DATABASE_URL", shared.dsn()) // for the examples
		}
		return m.Run()
	}()
	os.Exit(code)
}

type missingError struct{ what string }

func (e *missingError) Error() string { return e.what + " is not installed" }

// missing skips the test, or fails it where the environment demands servers.
func missing(t testing.TB, err error) {
	t.Helper()
	var m *missingError
	if errors.As(err, &m) && os.Getenv("TENURE_REQUIRE_SERVERS") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func needServer(t testing.TB) *server {
	t.Helper()
	if shared == nil {
		t.Skip("PostgreSQL is not installed")
	}
	return shared
}

// pgBinary finds a server program: in PATH, where pg_config says, or where Debian puts it.
func pgBinary(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	var dirs []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Sort(found)
	slices.Reverse(found)
	for _, d := range append(dirs, found...) {
		if p := filepath.Join(d, name); exec.Command(p, "--version").Run() == nil {
			return p, nil
		}
	}
	return "", &missingError{name}
}

// unprivileged is who runs the servers: they refuse to run as root.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}, nil
	}
	return nil, &missingError{"an unprivileged user"}
}

type serverConfig struct {
	sync     bool     // fsync on
	settings []string // name=value
	from     string   // a folder to start from instead of a fresh cluster; it is taken over
	port     int
}

// server is one private PostgreSQL server.
type server struct {
	cfg   serverConfig
	dir   string // its own temporary folder; data is below
	port  int
	as    *syscall.Credential
	proc  *exec.Cmd
	dead  chan struct{}
	dog   *exec.Cmd
	leash io.Closer
	log   *bytes.Buffer
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func startServer(cfg serverConfig) (*server, error) {
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if _, err := pgBinary("postgres"); err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, as: as, port: cfg.port}
	if s.port == 0 {
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
	}
	if s.dir, err = os.MkdirTemp("", "tenure-postgres-"); err != nil {
		return nil, err
	}
	if err = s.prepare(); err == nil {
		err = s.start()
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

func (s *server) command(name string, args ...string) (*exec.Cmd, error) {
	bin, err := pgBinary(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	return cmd, nil
}

func (s *server) prepare() error {
	if s.as != nil {
		if err := os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return err
		}
	}
	if s.cfg.from != "" {
		return os.Rename(s.cfg.from, s.data())
	}
	cmd, err := s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// start runs the server until it answers. It may be called again after stop.
func (s *server) start() error {
	var err error
	for range 50 { // after kill -9 the old backends hold the shared memory for a moment
		if err = s.tryStart(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func (s *server) tryStart() error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "max_connections=200", "-c", "shared_buffers=32MB", "-c", "fsync=" + map[bool]string{true: "on", false: "off"}[s.cfg.sync]}
	for _, set := range s.cfg.settings {
		args = append(args, "-c", set)
	}
	cmd, err := s.command("postgres", args...)
	if err != nil {
		return err
	}
	s.log = new(bytes.Buffer)
	cmd.Stderr = s.log
	if err := cmd.Start(); err != nil {
		return err
	}
	dead := make(chan struct{})
	go func() { _ = cmd.Wait(); close(dead) }()
	s.proc, s.dead = cmd, dead
	s.watchdog()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case <-dead:
			s.unleash()
			return fmt.Errorf("postgres ended: %s", s.log)
		default:
		}
		if answers(s.dsn()) {
			return nil
		}
	}
	s.stop(syscall.SIGQUIT)
	return fmt.Errorf("postgres does not answer: %s", s.log)
}

// answers tells whether a connection can be made.
func answers(dsn string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return false
	}
	_ = c.Close(ctx)
	return true
}

// watchdog ends the server should the test process die without doing so: its input closes then.
func (s *server) watchdog() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	s.dog = exec.Command("sh", "-c", `cat >/dev/null; kill -QUIT `+strconv.Itoa(s.proc.Process.Pid))
	s.dog.Stdin = r
	s.leash = w
	if s.dog.Start() != nil {
		w.Close()
		s.dog = nil
	}
}

func (s *server) unleash() {
	if s.dog != nil {
		_ = s.dog.Process.Kill()
		_ = s.dog.Wait()
		_ = s.leash.Close()
		s.dog = nil
	}
}

// stop ends the server by its pid: SIGINT is a fast shutdown, SIGQUIT an immediate one, SIGKILL a crash.
func (s *server) stop(sig syscall.Signal) {
	if s.proc == nil {
		return
	}
	s.unleash()
	_ = s.proc.Process.Signal(sig)
	<-s.dead
	s.proc = nil
}

func (s *server) remove() {
	s.stop(syscall.SIGQUIT)
	_ = os.RemoveAll(s.dir)
}

func (s *server) addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

func (s *server) dsn() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

// with is the server's connection string with more parameters.
func (s *server) with(params ...string) string { return s.dsn() + "&" + strings.Join(params, "&") }

// newServer starts a server for one test.
func newServer(t testing.TB, cfg serverConfig) *server {
	t.Helper()
	s, err := startServer(cfg)
	missing(t, err)
	t.Cleanup(s.remove)
	return s
}

// bouncer starts a PgBouncer in transaction mode in front of the server and returns its connection string.
func (s *server) bouncer(t testing.TB) string {
	t.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		if bin = "/usr/sbin/pgbouncer"; exec.Command(bin, "--version").Run() != nil {
			missing(t, &missingError{"pgbouncer"})
		}
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tenure-pgbouncer-") //nolint:usetesting // an unprivileged user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write := func(name, body string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	users := write("users.txt", "\"postgres\" \"\"\n")
	ini := write("pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
`, s.port, port, users))
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, ini)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	dsn := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	until(t, 10*time.Second, "pgbouncer answers", func() bool { return answers(dsn) })
	return dsn
}
