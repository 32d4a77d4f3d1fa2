package main

import (
	"context"
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

	"github.com/jackc/pgx/v5"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
)

// postgresBinary finds a server program in PATH or where Debian puts it.
func postgresBinary(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	slices.Sort(found)
	if len(found) == 0 {
		if os.Getenv("TENURE_REQUIRE_SERVERS") == "1" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed", name)
	}
	return found[len(found)-1]
}

// privatePostgres starts a server of the test's own and returns its URL.
func privatePostgres(t *testing.T, settings ...string) string {
	t.Helper()
	initdb, postgres := postgresBinary(t, "initdb"), postgresBinary(t, "postgres")
	dir, err := os.MkdirTemp("", "tenure-postgres-") //nolint:usetesting // an unprivileged user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	attr := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 { // the server refuses to run as root
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Skip(err)
		}
		uid, _ := strconv.Atoi(u.Uid) // numbers, on every system that has them
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}
	}
	prepare := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr = dir, attr
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := prepare(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	_, port, _ := net.SplitHostPort(freeAddress(t))
	args := []string{"-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200"}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd := prepare(postgres, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		_ = cmd.Wait()
	})
	url := fmt.Sprintf("postgres://postgres:secret@127.0.0.1:%s/postgres?sslmode=disable", port)
	eventually(t, "postgres answers", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return false
		}
		return conn.Close(ctx) == nil
	})
	return url
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	url := privatePostgres(t)
	store := []string{"--store", url}
	with := func(args ...string) []string { return append(args, store...) }

	status, out, said := command(with("check", "--clock", "0")...)
	if status != 1 || !strings.Contains(out, `FATAL: set-up schema "tenure" is missing`) || said != "" {
		t.Errorf("check before migrate: %d %q %q", status, out, said)
	}
	if status, _, said := command(with("provision")...); status != 3 || !strings.Contains(said, `"tenure migrate"`) || strings.Count(said, "\n") != 1 {
		t.Errorf("provision before migrate: %d %q", status, said)
	}
	for range 2 { // the second changes nothing
		if out := must(t, with("migrate")...); !strings.Contains(out, fmt.Sprintf("version %d", postgresstore.SchemaVersion())) || strings.Contains(out, "secret") {
			t.Errorf("migrate: %q", out)
		}
	}
	must(t, with("provision")...)
	v := object(t, must(t, with("check", "--json")...))
	if v["usable"] != true || !strings.HasPrefix(v["server"].(string), "PostgreSQL ") || !strings.Contains(fmt.Sprint(v["findings"]), "fsync") {
		t.Errorf("check: %v", v)
	}
	p := running(t, "", store, "--", "sh", "-c", "echo $TENURE_TOKEN; exec sleep 1000")
	eventually(t, "the command runs", func() bool { return p.out.String() != "" })
	if w := object(t, must(t, with("who", "job", "--json")...)); fmt.Sprintf("%.0f\n", w["token"]) != p.out.String() {
		t.Errorf("who: %v, the command has token %s", w, p.out.String())
	}
	p.signal(syscall.SIGTERM)
	if status := p.wait(); status != 143 {
		t.Errorf("status %d: %s", status, p.err.String())
	}
	verifyWorks(t, store)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var left int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'tenure_verify%'").Scan(&left); err != nil || left != 0 {
		t.Errorf("verify left %d schemas behind (%v)", left, err)
	}
	if sql := must(t, "migrate", "--print", "--schema", "mine"); !strings.Contains(sql, `CREATE SCHEMA IF NOT EXISTS "mine"`) {
		t.Errorf("migrate --print: %.100q", sql)
	}
}

// verifyWorks runs a few quick checks of the suite.
func verifyWorks(t *testing.T, store []string) {
	t.Helper()
	p := start(t, "", nil, append([]string{"verify", "--unit", "200ms", "--run", "^(O01|K01|T01)", "--json", "--seed", "7"}, store...)...)
	if status := p.wait(); status != 0 {
		t.Fatalf("verify: status %d: %s%s", status, p.out.String(), p.err.String())
	}
	v := object(t, p.out.String())
	checks := v["checks"].([]any)
	if v["passed"].(float64) != 3 || v["failed"].(float64) != 0 || v["seed"].(float64) != 7 || len(checks) != 3 {
		t.Errorf("verify: %s", p.out.String())
	}
	if c := checks[0].(map[string]any); c["outcome"] != "passed" || len(c["id"].(string)) != 3 || c["name"] == "" {
		t.Errorf("a check: %v", c)
	}
}

func TestVerifyOnRedis(t *testing.T) {
	t.Parallel()
	s := privateRedis(t)
	verifyWorks(t, []string{"--store", s.url})
	if keys := s.keys(t); len(keys) != 0 {
		t.Errorf("verify left %v behind", keys)
	}
	if status, _, said := commandOf(t, "verify", "--store", s.url, "--run", "^ZZ"); status != 2 || !strings.Contains(said, `--run "^ZZ"`) || !strings.Contains(said, "O07") || strings.Count(said, "\n") != 1 {
		t.Errorf("no such check: %d %q", status, said)
	}
	if status, out, said := commandOf(t, "verify", "--store", s.url, "--unit", "50ms", "--run", "O01|K01"); status != 0 || !strings.Contains(out, "2 passed") || !strings.Contains(said, "scratch fleets") {
		t.Errorf("one or the other: %d %q %q", status, out, said)
	}
}

// A server that evicts breaks the promise, and verify and check both say so.
func TestVerifyAndCheckOnAServerThatEvicts(t *testing.T) {
	t.Parallel()
	s := privateRedis(t, "--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru")
	status, out, _ := commandOf(t, "verify", "--store", s.url, "--run", "^O01")
	if status != 1 || !strings.Contains(out, "failed  O01") || !strings.Contains(out, "maxmemory-policy") || !strings.Contains(out, "0 passed, 1 failed") {
		t.Errorf("verify: %d %q", status, out)
	}
	status, out, said := command("check", "--store", s.url, "--clock", "0")
	if status != 1 || !strings.Contains(out, "FATAL: maxmemory-policy allkeys-lru") || said != "" {
		t.Errorf("check: %d %q %q", status, out, said)
	}
	// tenure run tells it in one line, and starts nothing.
	p := running(t, "", []string{"--store", s.url}, "--", "echo", "ran")
	if status := p.wait(); status != 2 || p.out.String() != "" || strings.Count(p.err.String(), "\n") != 1 || !strings.Contains(p.err.String(), "maxmemory-policy") {
		t.Errorf("run: %d %q %q", status, p.out.String(), p.err.String())
	}
}

func TestCheckOnReplicas(t *testing.T) {
	t.Parallel()
	master := privateRedis(t)
	host, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(master.url, "redis://"), "/0"))
	replica := privateRedis(t, "--replicaof", host+" "+port)
	status, out, _ := command("check", "--store", replica.url, "--clock", "0")
	if status != 1 || !strings.Contains(out, "FATAL: role replica") {
		t.Errorf("a replica: %d %q", status, out)
	}
	eventually(t, "the master knows its replica", func() bool {
		_, out, _ := command("check", "--store", master.url, "--clock", "0")
		return strings.Contains(out, "min-replicas-to-write")
	})
	if status, _, _ := command("check", "--store", master.url, "--clock", "0", "--strict"); status != 1 {
		t.Errorf("--strict with findings: status %d", status)
	}
	c := object(t, must(t, "check", "--store", master.url, "--clock", "100ms", "--json"))["clock"].(map[string]any)
	if c["overSeconds"].(float64) < 0.1 || c["roundTripSeconds"].(float64) <= 0 {
		t.Errorf("clock: %v", c)
	}
}

// commandOf runs the program as a process: verify starts itself again.
func commandOf(t *testing.T, args ...string) (status int, out, said string) {
	t.Helper()
	p := start(t, "", nil, args...)
	status = p.wait()
	return status, p.out.String(), p.err.String()
}
