package postgresstore

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// TestMigratingProcess is one process of TestMigrateTogether, when called for it.
func TestMigratingProcess(t *testing.T) {
	dsn := os.Getenv("TENURE_MIGRATE_DSN")
	if dsn == "" {
		t.Skip("only as a process of TestMigrateTogether")
	}
	s, err := Open(dsn, "f", Config{Schema: "together"})
	must(t, err)
	defer s.Close()
	must(t, s.Migrate(ctx(t)))
	must(t, s.Check(ctx(t)))
}

// Eight processes migrate at once and one of them is killed: one schema, no error for the others.
// Failure 63.
func TestMigrateTogether(t *testing.T) {
	srv := newServer(t, serverConfig{})
	// Whoever comes first is held up in the middle of it, so that the others meet it and the kill finds it.
	srv.exec(t, `CREATE FUNCTION public.slow() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.05); END'`)
	srv.exec(t, `CREATE EVENT TRIGGER slow ON ddl_command_end EXECUTE FUNCTION public.slow()`)
	exe, err := os.Executable()
	must(t, err)
	run := func() (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.Command(exe, "-test.run=^TestMigratingProcess$", "-test.v")
		cmd.Env = append(os.Environ(), "TENURE_MIGRATE_DSN="+srv.dsn())
		out := new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, out
		must(t, cmd.Start())
		return cmd, out
	}
	victim, _ := run()
	until(t, 20*time.Second, "the first process is migrating", func() bool {
		return srv.number(t, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted") > 0
	})
	var wg sync.WaitGroup
	for range 7 {
		cmd, out := run()
		wg.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("a migrating process: %v\n%s", err, out)
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	must(t, victim.Process.Kill())
	_ = victim.Wait()
	wg.Wait()
	if n := srv.number(t, "SELECT count(*) FROM together.schema_version WHERE version = $1", SchemaVersion()); n != 1 {
		t.Errorf("the schema has %d version rows, want 1", n)
	}
}

func TestSchemaSQLIsTheSchema(t *testing.T) {
	srv := newServer(t, serverConfig{})
	ddl, err := SchemaSQL(`odd "name`)
	must(t, err)
	c := srv.dial(t)
	_, err = c.PgConn().Exec(ctx(t), ddl).ReadAll()
	must(t, err)
	// The role of the application creates nothing and has the documented rights alone.
	srv.exec(t, `CREATE ROLE app LOGIN`)
	srv.exec(t, `GRANT USAGE ON SCHEMA "odd ""name" TO app`)
	srv.exec(t, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "odd ""name" TO app`)
	srv.exec(t, `REVOKE ALL ON SCHEMA public FROM PUBLIC`)
	s := open(t, strings.Replace(srv.dsn(), "postgres@", "app@", 1), freshFleet(), Config{Schema: `odd "name`})
	must(t, s.Migrate(ctx(t))) // current: no right to create is needed
	must(t, s.Check(ctx(t)))
	must(t, s.Provision(ctx(t)))
	sess := begun(t, s, 10*time.Second)
	l := granted(t, s, sess, "k")[0]
	must(t, s.FencedFunc(ctx(t), l, pgx.TxOptions{}, func(context.Context, pgx.Tx) error { return nil }))
	must(t, s.Release(ctx(t), sess, []lease.Lease{l}))
	must(t, s.PutTargets(ctx(t), assigner.Head{Token: 1, Planner: "p"}, plan(2, 1), []instance.ID{"gone"}))
	_, set, err := s.TargetsOf(ctx(t), "instance-00001")
	must(t, err)
	_, all, err := s.AllTargets(ctx(t))
	must(t, err)
	if !set.Found || len(all) != 2 {
		t.Errorf("the targets are %+v and %+v", set, all)
	}
	s.purge(ctx(t))

	// An older program beside a newer schema works while the schema says so.
	srv.exec(t, `UPDATE "odd ""name".schema_version SET version = version + 5`)
	must(t, s.Migrate(ctx(t)))
	must(t, s.Check(ctx(t)))
	srv.exec(t, `UPDATE "odd ""name".schema_version SET compatible = version`)
	wantSetup(t, s.Migrate(ctx(t)), "upgrade this program")
	wantSetup(t, s.Check(ctx(t)), "upgrade this program")
	srv.exec(t, `UPDATE "odd ""name".schema_version SET version = $1, compatible = $1`, SchemaVersion())
	// What fencing stands on is looked for.
	srv.exec(t, `ALTER TABLE "odd ""name".lease DROP CONSTRAINT lease_fence`)
	wantSetup(t, s.Check(ctx(t)), "unique index")
	srv.exec(t, `CREATE UNIQUE INDEX ON "odd ""name".lease (fleet, key, token) WHERE session IS NOT NULL`)
	wantSetup(t, s.Check(ctx(t)), "unique index")
	srv.exec(t, `CREATE UNIQUE INDEX ON "odd ""name".lease (fleet, key, token)`)
	must(t, s.Check(ctx(t)))
	srv.exec(t, `REVOKE DELETE ON "odd ""name".member FROM app`)
	wantSetup(t, s.Check(ctx(t)), "member")
}

// A role that only writes under a fence needs no more than the guide says.
func TestFenceOnlyRole(t *testing.T) {
	srv := needServer(t)
	s := migrated(t, srv, Config{})
	srv.exec(t, `DO $$ BEGIN
		IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'fenced_writer') THEN
			DROP OWNED BY fenced_writer;
			DROP ROLE fenced_writer;
		END IF;
	END $$`)
	srv.exec(t, `CREATE ROLE fenced_writer LOGIN`)
	srv.exec(t, `GRANT USAGE ON SCHEMA tenure TO fenced_writer`)
	srv.exec(t, `GRANT SELECT ON tenure.fleet, tenure.session, tenure.lease TO fenced_writer`)
	srv.exec(t, `GRANT UPDATE ON tenure.lease TO fenced_writer`)
	sess := begun(t, s, 10*time.Second)
	l := granted(t, s, sess, "k")[0]
	w := open(t, strings.Replace(srv.dsn(), "postgres@", "fenced_writer@", 1), s.fleet, Config{})
	nothing := func(context.Context, pgx.Tx) error { return nil }
	must(t, w.FencedFunc(ctx(t), l, pgx.TxOptions{}, nothing))
	must(t, s.Release(ctx(t), sess, []lease.Lease{l}))
	if err := w.FencedFunc(ctx(t), l, pgx.TxOptions{}, nothing); !errors.Is(err, ErrFenced) {
		t.Fatal(err)
	}
}

// wantSetup fails the test unless the error says what to do.
func wantSetup(t testing.TB, err error, says string) {
	t.Helper()
	var e *SetupError
	if !errors.As(err, &e) || e.Remedy == "" || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v (%T), want a *SetupError that says %q", err, err, says)
	}
}

func TestBadSetUp(t *testing.T) {
	srv := needServer(t)
	c := ctx(t)
	_, err := Open("postgres://%zz", "f", Config{})
	wantSetup(t, err, "postgres://user:password@host")
	for name, bad := range map[string]struct {
		dsn  string
		says string
	}{
		"database": {strings.Replace(srv.dsn(), "/postgres?", "/nowhere?", 1), "create it"},
		"login":    {strings.Replace(srv.dsn(), "postgres@", "nobody-here@", 1), "user"},
		"schema":   {srv.dsn(), "Migrate"},
		"options":  {srv.with("nonsense_setting=1"), ""},
		"port":     {strings.Replace(srv.dsn(), srv.addr(), "127.0.0.1:1", 1), ""},
	} {
		s := open(t, bad.dsn, "f", Config{Schema: "absent"})
		short, cancel := context.WithTimeout(c, 5*time.Second)
		_, err := s.Renew(short, lease.NewSession("i", time.Second))
		cancel()
		if !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("%s: Renew answered %v, want ErrUnavailable", name, err)
		}
		if bad.says != "" {
			wantSetup(t, err, bad.says)
			wantSetup(t, s.Check(c), bad.says)
		}
	}
	srv.exec(t, "CREATE ROLE powerless LOGIN")
	must(t, open(t, srv.dsn(), "f", Config{}).Migrate(c))
	powerless := open(t, strings.Replace(srv.dsn(), "postgres@", "powerless@", 1), "f", Config{})
	_, err = powerless.Renew(c, lease.NewSession("i", time.Second))
	wantSetup(t, err, "grant USAGE")
	wantSetup(t, open(t, strings.Replace(srv.dsn(), "postgres@", "powerless@", 1), "f", Config{Schema: "another"}).Migrate(c), "right")
	srv.exec(t, "CREATE ROLE reader SUPERUSER LOGIN")
	srv.exec(t, "ALTER ROLE reader SET default_transaction_read_only = on")
	reader := open(t, strings.Replace(srv.dsn(), "postgres@", "reader@", 1), "f", Config{})
	_, err = reader.OpenSession(c, lease.NewSession("i", time.Second))
	if !errors.Is(err, lease.ErrReadOnlyStore) || errors.Is(err, lease.ErrUnavailable) {
		t.Errorf("OpenSession on a read-only server: %v", err)
	}
	if err := reader.Check(c); !errors.Is(err, lease.ErrReadOnlyStore) {
		t.Errorf("Check on a read-only server: %v", err)
	}
}

// Failure 69.
func TestBadArguments(t *testing.T) {
	cfg, err := pgxpool.ParseConfig("postgres://nobody@127.0.0.1:1/x")
	must(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	must(t, err)
	defer pool.Close()
	long := strings.Repeat("x", 513)
	for field, err := range map[string]error{
		"pool":               second(New(nil, "f", Config{})),
		"db":                 second(NewSQL(t.Context(), nil, "f", Config{})),
		"fleet":              second(New(pool, "", Config{})),
		"fleet of 513 bytes": second(New(pool, long, Config{})),
		"Config.Schema":      second(New(pool, "f", Config{Schema: strings.Repeat("s", 64)})),
		`Config.Schema "pg_`: second(New(pool, "f", Config{Schema: "pg_x"})),
		"Config.MaxTTL":      second(New(pool, "f", Config{MaxTTL: 25 * time.Hour})),
		"Config.Connections": second(New(pool, "f", Config{Connections: 101})),
		"Config.CallTimeout": second(New(pool, "f", Config{CallTimeout: -1})),
		"Config.ForgetAfter": second(New(pool, "f", Config{ForgetAfter: time.Second})),
		"Config.ListenDSN":   second(New(pool, "f", Config{ListenDSN: "postgres://%zz"})),
	} {
		if !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), "invalid "+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := SchemaSQL("pg_catalog"); !errors.Is(err, lease.ErrInvalid) {
		t.Error(err)
	}
	db := sql.OpenDB(foreign{})
	defer db.Close()
	if _, err := NewSQL(t.Context(), db, "f", Config{}); !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), "pgx") {
		t.Errorf("NewSQL on another driver: %v", err)
	}
}

func second(_ *Store, err error) error { return err }

// foreign is a database/sql driver that is not pgx.
type foreign struct{}

func (f foreign) Connect(context.Context) (driver.Conn, error) { return foreignConn{}, nil }
func (f foreign) Driver() driver.Driver                        { return f }
func (foreign) Open(string) (driver.Conn, error)               { return foreignConn{}, nil }

type foreignConn struct{ driver.Conn }

func (foreignConn) Close() error { return nil }

// Close gives back what the store opened, at once, and leaves alone what it was given.
// Failure 65.
func TestCloseOnASilentServer(t *testing.T) {
	srv := needServer(t)
	p := newProxy(t, srv.addr())
	cfg, err := pgxpool.ParseConfig(strings.Replace(srv.dsn(), srv.addr(), p.addr(), 1))
	must(t, err)
	pool, err := pgxpool.NewWithConfig(ctx(t), cfg)
	must(t, err)
	defer pool.Close()
	s, err := New(pool, freshFleet(), Config{})
	must(t, err)
	must(t, s.Migrate(ctx(t)))
	must(t, s.Provision(ctx(t)))
	sess := begun(t, s, 10*time.Second)
	thaw := p.freeze()
	defer thaw()
	hung := make(chan error, 2)
	go func() { _, err := s.Renew(context.Background(), sess); hung <- err }()
	go func() { _, err := s.Leases(context.Background()); hung <- err }()
	time.Sleep(100 * time.Millisecond)
	begun := time.Now()
	must(t, s.Close())
	if d := time.Since(begun); d > 1500*time.Millisecond {
		t.Errorf("Close on a server that does not answer took %v", d)
	}
	for range 2 {
		if err := <-hung; !errors.Is(err, lease.ErrUnavailable) || errors.Is(err, lease.ErrClosed) {
			t.Errorf("a call in flight at Close answered %v, want ErrUnavailable", err)
		}
	}
	if _, err := s.Renew(ctx(t), sess); !errors.Is(err, lease.ErrClosed) {
		t.Error(err)
	}
	thaw()
	must(t, pool.Ping(ctx(t)))
}

// Behind a transaction pooler LISTEN seems to work and nothing arrives: the store says so once.
func TestDeafWatchSaysSoOnce(t *testing.T) {
	srv := needServer(t)
	var log bytes.Buffer
	var mu sync.Mutex
	logger := slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), nil))
	setup := migrated(t, srv, Config{})
	s := open(t, srv.bouncer(t), setup.fleet, Config{Logger: logger})
	watching, end := context.WithCancel(ctx(t))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { _ = s.Watch(watching, func(lease.Change) {}) })
	}
	said := func() int {
		mu.Lock()
		defer mu.Unlock()
		return strings.Count(log.String(), "LISTEN does not work")
	}
	until(t, 30*time.Second, "the store says that LISTEN does not work", func() bool { return said() > 0 })
	time.Sleep(300 * time.Millisecond)
	end()
	wg.Wait()
	if said() != 1 {
		t.Errorf("said %d times:\n%s", said(), fmt.Sprint(log.String()))
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// A LISTEN connection that dies is replaced, with a resync.
// Failure F10.
func TestWatchReconnects(t *testing.T) {
	srv := needServer(t)
	setup := migrated(t, srv, Config{})
	s := open(t, srv.with("application_name=watch-reconnects"), setup.fleet, Config{})
	changes := make(chan lease.Change, 64)
	watching, end := context.WithCancel(ctx(t))
	done := make(chan error, 1)
	go func() { done <- s.Watch(watching, func(c lease.Change) { changes <- c }) }()
	for range 3 {
		if c := <-changes; c.Kind != lease.ChangeResync {
			t.Fatalf("%+v, want a resync", c)
		}
		sess := begun(t, setup, 10*time.Second)
		must(t, setup.Release(ctx(t), sess, granted(t, setup, sess, "k")))
		if c := <-changes; c.Kind != lease.ChangeReleased || c.Key != "k" {
			t.Fatalf("%+v, want the release of k", c)
		}
		srv.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'watch-reconnects' AND query LIKE 'LISTEN%'")
	}
	end()
	if err := <-done; !errors.Is(err, lease.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
