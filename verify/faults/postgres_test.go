package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func onPostgres(t *testing.T) (*fleet, *server) {
	t.Helper()
	s := startPostgres(t)
	return startFleet(t, s.dsn(), 3), s
}

func postgresFaults() []fault {
	return []fault{
		{name: "kill -9 of a pod", unowned: ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, _ := onPostgres(t)
			f.pods[0].kill()
			return f
		}},
		{name: "pod paused for 1.5 TTL", unowned: ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, _ := onPostgres(t)
			f.pods[0].freeze(3 * ttl / 2)
			return f
		}},
		{name: "server stopped for 3 TTL", unowned: 3 * ttl, hurt: func(t *testing.T) *fleet {
			f, s := onPostgres(t)
			everyone(s, syscall.SIGSTOP)
			time.Sleep(3 * ttl)
			everyone(s, syscall.SIGCONT)
			return f
		}},
		{name: "immediate restart", ci: true, unowned: 4 * ttl, hurt: func(t *testing.T) *fleet {
			f, s := onPostgres(t)
			s.stop(syscall.SIGQUIT)
			s.start()
			return f
		}},
		{name: "postmaster killed", unowned: 4 * ttl, hurt: func(t *testing.T) *fleet {
			f, s := onPostgres(t)
			s.stop(syscall.SIGKILL)
			time.Sleep(ttl / 4) // its backends see that it is gone
			s.start()
			return f
		}},
		{name: "asynchronous standby promoted", unowned: 3 * ttl, hurt: func(t *testing.T) *fleet { return standbyPromotion(t, false) }},
		{name: "synchronous standby promoted", unowned: 3 * ttl, hurt: func(t *testing.T) *fleet { return standbyPromotion(t, true) }},
		{name: "PgBouncer restarted", unowned: ttl, hurt: func(t *testing.T) *fleet {
			s := startPostgres(t)
			b := startBouncer(t, s)
			f := startFleet(t, dsn(b.addr()), 3)
			b.stop(syscall.SIGKILL)
			b.start()
			return f
		}},
	}
}

// everyone signals the postmaster and all its backends.
func everyone(s *server, sig syscall.Signal) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", s.cmd.Process.Pid)) // none on other systems
	s.signal(sig)
	for field := range strings.FieldsSeq(string(children)) {
		var pid int
		if _, err := fmt.Sscan(field, &pid); err == nil {
			_ = syscall.Kill(pid, sig) // it may be gone already
		}
	}
}

// standbyPromotion has a standby take over; an asynchronous one has missed the latest handovers.
func standbyPromotion(t *testing.T, synchronous bool) *fleet {
	primary := startPostgres(t, "wal_level=replica", "max_wal_senders=5", "hot_standby=on")
	standby := emptyPostgres(t)
	standby.run("pg_basebackup", "-h", "127.0.0.1", "-p", fmt.Sprint(primary.port), "-U", "postgres", "-D", standby.data(), "-R", "-X", "stream", "-c", "fast")
	standby.start()
	t.Cleanup(standby.end)
	primary.eventually("1", "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
	if synchronous {
		primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
		primary.sql("SELECT pg_reload_conf()")
		primary.eventually("sync", "SELECT sync_state FROM pg_stat_replication")
	}
	way := newNetwork(t, primary.addr())
	f := startFleet(t, dsn(way.addr()), 3)
	if !synchronous {
		standby.sql("ALTER SYSTEM SET primary_conninfo = ''")
		standby.sql("SELECT pg_reload_conf()")
		standby.eventually("0", "SELECT count(*) FROM pg_stat_wal_receiver")
		f.pods[0].stop() // handovers that the standby knows nothing of
		<-f.pods[0].gone
		f.settle(40 * time.Second)
		f.witness.since()
	}
	primary.stop(syscall.SIGKILL)
	standby.sql("SELECT pg_promote(true)")
	way.point(standby.addr())
	return f
}

// eventually waits for an answer.
func (s *server) eventually(want, text string) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); s.sql(text) != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: %q, want %q", text, s.sql(text), want)
		}
	}
}

func startBouncer(t *testing.T, to *server) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "tenure-faults-") //nolint:usetesting // an unprivileged user must reach it
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &server{t: t, bin: binary(t, "pgbouncer"), dir: dir, port: freePort(t)}
	s.cred = unprivileged(t, dir)
	users := writeFile(t, dir, "users.txt", "\"postgres\" \"\"\n")
	s.args = []string{writeFile(t, dir, "pgbouncer.ini", fmt.Sprintf(`[databases]
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
`, to.port, s.port, users))}
	s.ready = func(s *server) bool { return s.sql("SELECT 1") == "1" }
	s.start()
	t.Cleanup(s.end)
	return s
}
