package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A server that answers and refuses what is asked is told as that by every command, and check finds it.
func TestRedisTakesNoWrites(t *testing.T) {
	t.Parallel()
	s := privateRedis(t)
	c := s.client()
	defer c.Close()
	ctx := t.Context()
	must(t, "provision", "--store", s.url)
	check := func(name, url string, said []string, found ...string) {
		t.Helper()
		status, _, text := command("provision", "--fleet", "new", "--store", url)
		if status != 3 || strings.Count(text, "\n") != 1 || strings.Contains(text, "does not answer") {
			t.Errorf("%s: provision: %d %q", name, status, text)
		}
		for _, want := range said {
			if !strings.Contains(text, want) {
				t.Errorf("%s: provision: %q does not say %q", name, text, want)
			}
		}
		status, out, text := command("check", "--clock", "0", "--store", url)
		if status != 1 || text != "" || !strings.Contains(out, "FATAL") || !strings.Contains(out, "not usable") {
			t.Errorf("%s: check: %d %q %q", name, status, out, text)
		}
		for _, want := range found {
			if !strings.Contains(out, want) {
				t.Errorf("%s: check: %q does not say %q", name, out, want)
			}
		}
	}
	set := func(name, value string) {
		t.Helper()
		if err := c.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	user := func(name string, rules ...any) string {
		t.Helper()
		if err := c.Do(ctx, append([]any{"ACL", "SETUSER", name, "on", ">secret"}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
		return strings.Replace(s.url, "redis://", "redis://"+name+":secret@", 1)
	}
	set("min-replicas-to-write", "1")
	check("too few replicas", s.url, []string{"too few replicas", "NOREPLICAS", "lower min-replicas-to-write"}, "min-replicas-to-write", "bring the replicas back")
	set("min-replicas-to-write", "0")
	set("maxmemory", "100kb")
	check("full memory", s.url, []string{"memory is full", "raise maxmemory"}, "maxmemory", "raise maxmemory")
	set("maxmemory", "0")
	check("a user who may not write", user("ann", "~*", "&*", "+@all", "-hset", "-set", "-zadd"), []string{"lacks a right", "can't run this command", "ACL SETUSER"}, "without +set +zadd +hset")
	deaf := user("eve", "~*", "resetchannels", "+@all")
	status, out, _ := command("check", "--clock", "0", "--store", deaf)
	if status != 0 || !strings.Contains(out, "warning: right to the hints none") || !strings.Contains(out, "&{tenure:default}:hints") {
		t.Errorf("a user without the channel: %d %q", status, out)
	}
	set("maxclients", "1")
	if status, _, said := command("status", "--store", s.url); status != 3 || strings.Contains(said, "does not answer") || !strings.Contains(said, "maxclients") {
		t.Errorf("too many clients: %d %q", status, said)
	}
}

// How long a command waits is its own --timeout, unless the URL says otherwise.
func TestTimeoutRules(t *testing.T) {
	t.Parallel()
	s := privateRedis(t)
	// Longer than the 2 s after which the driver by itself gives up.
	s.signal(t, syscall.SIGSTOP)
	time.AfterFunc(3*time.Second, func() { _ = s.cmd.Process.Signal(syscall.SIGCONT) })
	began := time.Now()
	status, _, said := command("status", "--timeout", "60s", "--store", s.url)
	if took := time.Since(began); status != 0 || took < 2500*time.Millisecond {
		t.Errorf("%d after %v: %s", status, took, said)
	}
	s.signal(t, syscall.SIGSTOP)
	defer s.signal(t, syscall.SIGCONT)
	began = time.Now()
	status, _, said = command("status", "--timeout", "60s", "--store", s.url+"?read_timeout=500ms")
	if took := time.Since(began); status != 3 || took < 400*time.Millisecond || took > patience {
		t.Errorf("what the URL says: %d after %v: %s", status, took, said)
	}
	began = time.Now()
	status, _, said = command("check", "--timeout", "700ms", "--clock", "60s", "--store", s.url)
	if took := time.Since(began); status != 3 || took < 600*time.Millisecond || took > patience {
		t.Errorf("check: %d after %v: %s", status, took, said)
	}
}

// What listens at the port is not what the URL says.
func TestStrangeServers(t *testing.T) {
	t.Parallel()
	s := privateRedis(t)
	speaking := func(words string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 4096))
				_, _ = c.Write([]byte(words))
				c.Close()
			}
		}()
		return "redis://" + l.Addr().String()
	}
	for url, want := range map[string]string{
		strings.Replace(s.url, "redis://", "rediss://", 1):                    "does not answer in TLS",
		strings.Replace(speaking("220 mail\r\n"), "redis://", "rediss://", 1): "does not speak TLS",
		speaking(""): "closed without an answer",
		speaking("HTTP/1.1 400 Bad Request\r\n\r\n"):               "is no Redis",
		speaking("\x15\x03\x01\x00\x02\x02\x46\r\n"):               "rediss://",
		speaking("220 mail." + strings.Repeat("x", 3000) + "\r\n"): "is no Redis",
	} {
		for _, name := range []string{"status", "check"} {
			if status, _, said := command(name, "--store", url); status != 3 || !strings.Contains(said, want) || strings.Count(said, "\n") != 1 || len(said) > 400 {
				t.Errorf("%s %s: %d %q, expected %q", name, url, status, said, want)
			}
		}
	}
}

// A schema that is missing is told in the words of the command line, and so is a right that is missing to make it.
func TestPostgresIsUnfit(t *testing.T) {
	t.Parallel()
	url := privatePostgres(t)
	for _, args := range [][]string{{"status"}, {"provision"}, {"check", "--clock", "0"}} {
		status, out, said := command(append(args, "--store", url)...)
		if status == 0 || !strings.Contains(out+said, `"tenure migrate --print"`) || strings.Contains(out+said, "SchemaSQL") {
			t.Errorf("%v: %d %q %q", args, status, out, said)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(ctx, "CREATE ROLE ann LOGIN PASSWORD 'secret'"); err != nil {
		t.Fatal(err)
	}
	if status, _, said := command("migrate", "--store", strings.Replace(url, "postgres:secret", "ann:secret", 1)); status != 3 || !strings.Contains(said, "CREATE on the database") || !strings.Contains(said, "another role") {
		t.Errorf("migrate: %d %q", status, said)
	}
	var data string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&data); err != nil {
		t.Fatal(err)
	}
	// Longer than the 5 s after which the adapter by itself gives up.
	must(t, "migrate", "--store", url)
	time.AfterFunc(6*time.Second, freeze(t, data))
	began := time.Now()
	status, _, said := command("status", "--timeout", "60s", "--store", url)
	if took := time.Since(began); status != 0 || took < 5500*time.Millisecond {
		t.Errorf("status --timeout 60s: %d after %v: %s", status, took, said)
	}
	freeze(t, data)
	for _, clock := range []string{"0", "60s"} {
		began := time.Now()
		status, _, said := command("check", "--timeout", "1s", "--clock", clock, "--store", url)
		if took := time.Since(began); status != 3 || took < 900*time.Millisecond || took > patience {
			t.Errorf("check of a frozen server: %d after %v: %s", status, took, said)
		}
	}
}

// freeze stops the server whose data directory it is, until thaw or the test's end.
func freeze(t *testing.T, data string) (thaw func()) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	thaw = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	t.Cleanup(thaw)
	return thaw
}
