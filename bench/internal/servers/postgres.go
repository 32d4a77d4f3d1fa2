package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Postgres is a private PostgreSQL server: fsync and synchronous_commit are on, as they are by default.
type Postgres struct{ *Process }

// StartPostgres makes a cluster and starts it.
func StartPostgres() (*Postgres, error) {
	dir, err := os.MkdirTemp("", "tenure-bench-postgres-")
	if err != nil {
		return nil, err
	}
	p, err := startPostgres(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &Postgres{p}, nil
}

func startPostgres(dir string) (*Process, error) {
	initdb, err := postgresBinary("initdb")
	if err != nil {
		return nil, err
	}
	server, err := postgresBinary("postgres")
	if err != nil {
		return nil, err
	}
	as, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	command := func(bin string, args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
		cmd.SysProcAttr = tied(as)
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return launch(dir, "ready to accept connections", func(port int) *exec.Cmd {
		// A checkpoint in the middle of a round would have every page logged anew: they are made between.
		return command(server, "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
			"-c", "unix_socket_directories=", "-c", "max_connections=400",
			"-c", "checkpoint_timeout=1h", "-c", "max_wal_size=8GB")
	})
}

// DSN is the connection string.
func (p *Postgres) DSN() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", p.Port)
}

// Connect returns a new connection.
func (p *Postgres) Connect(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, p.DSN()) }

// postgresBinary finds a server program: in PATH, or where Debian puts it.
func postgresBinary(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is a good one
	if len(found) == 0 {
		return "", fmt.Errorf("%s is not installed (Debian: apt-get install postgresql)", name)
	}
	return slices.Max(found), nil
}

// unprivileged is who runs the server, which refuses to run as root; the folder becomes theirs.
func unprivileged(dir string) (*syscall.Credential, error) {
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
		if err1 != nil || err2 != nil {
			continue
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}, os.Chown(dir, int(uid), int(gid))
	}
	return nil, fmt.Errorf("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")
}
