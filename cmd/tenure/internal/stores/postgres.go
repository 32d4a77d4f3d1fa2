package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
	"github.com/tenure-go/tenure/lease"
)

// postgresHandle is a fleet in PostgreSQL.
type postgresHandle struct {
	*postgresstore.Store
	cfg Config
}

func openPostgres(cfg Config) (Handle, error) {
	if err := checkPostgres(cfg.URL); err != nil {
		return nil, err
	}
	s, err := postgresstore.Open(cfg.URL, cfg.Fleet, postgresstore.Config{
		Schema: cfg.Schema, MaxTTL: cfg.MaxTTL, CallTimeout: ruled, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &postgresHandle{Store: s, cfg: cfg}, nil
}

// checkPostgres refuses a URL that cannot be used, and what the driver would guess without a word.
func checkPostgres(text string) error {
	const example = "postgres://user:password@host:5432/database?sslmode=require"
	a, hosts, err := split(text)
	if err != nil {
		return err
	}
	if err := a.checkTwice(hosts); err != nil {
		return err
	}
	if mode := a.params.Get("sslmode"); mode != "" && !slices.Contains(sslModes(), mode) {
		return invalid("--store: parameter sslmode=%s: must be one of %s", shown(mode), strings.Join(sslModes(), ", "))
	}
	named := a.params.Get("host") != "" || a.params.Has("service") || os.Getenv("PGHOST") != "" || os.Getenv("PGSERVICE") != ""
	for _, host := range hosts {
		switch name, _, _ := strings.Cut(host, ":"); {
		case name != "":
			if _, _, err := hostPort(host, "5432"); err != nil {
				return err
			}
		case len(hosts) > 1 || !named: // the driver would look for a socket
			return invalid("--store: the host is missing; write %s, or ?host=/path for a socket", example)
		}
	}
	if _, err := pgx.ParseConfig(text); err != nil {
		return invalid("--store: %s; write it as %s", complaint(err), example)
	}
	return nil
}

func sslModes() []string {
	return []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}
}

// checkTwice refuses what the URL says both before and behind its question mark: the latter would count, without a word. No
// value is shown: it may be a password.
func (a address) checkTwice(hosts []string) error {
	var host, port bool
	for _, h := range hosts {
		name, rest, colon := strings.Cut(h, ":")
		host = host || name != ""
		port = port || colon && (rest != "" && !strings.HasPrefix(h, "[") || strings.Contains(h, "]:"))
	}
	var password bool
	if a.user != nil {
		_, password = a.user.Password()
	}
	for _, c := range []struct {
		given      bool
		name, part string
	}{
		{host, "host", "the host"}, {port, "port", "the port"}, {host, "hostaddr", "the host"},
		{len(a.path) > 0, "dbname", "the database"}, {len(a.path) > 0, "database", "the database"}, {a.params.Has("dbname"), "database", "the database"},
		{a.user != nil && a.user.Username() != "", "user", "the user"}, {password, "password", "the password"},
	} {
		if c.given && a.params.Has(c.name) {
			return invalid("--store: %s is given twice, and %s= behind the question mark would count; give it once, as in postgres://user:password@host:5432/database", c.part, c.name)
		}
	}
	return nil
}

// complaint is what the driver has against a URL, without the URL, which its error repeats.
func complaint(err error) string {
	const unknown = "not a connection URL"
	bad, ok := errors.AsType[*pgconn.ParseConfigError](err)
	if !ok {
		return unknown
	}
	text := bad.Error()
	if inner := bad.Unwrap(); inner != nil {
		text = strings.TrimSuffix(text, " ("+inner.Error()+")")
	}
	text = text[strings.LastIndex(text, "`: ")+1:]
	text = strings.TrimPrefix(text, ": ")
	if strings.ContainsFunc(text, func(r rune) bool {
		return r != ' ' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}) {
		return unknown
	}
	return text
}

// Where implements Handle.
func (h *postgresHandle) Where() string { return redacted(h.cfg.URL) }

// connect opens a connection beside the store's.
func (h *postgresHandle) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(h.cfg.URL)
	if err != nil {
		return nil, err
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec // a transaction pooler keeps no prepared statements
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lease.ErrUnavailable, err)
	}
	return conn, nil
}

// ServerTime implements Handle.
func (h *postgresHandle) ServerTime(ctx context.Context) (at time.Time, err error) {
	conn, err := h.connect(ctx)
	if err != nil {
		return at, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return at, conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&at)
}

const sqlSettings = `SELECT current_setting('server_version'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
	current_setting('fsync'), current_setting('full_page_writes'), (SELECT count(*) FROM pg_stat_replication)`

// Inspect implements Handle.
func (h *postgresHandle) Inspect(ctx context.Context) (Report, error) {
	conn, err := h.connect(ctx)
	if err != nil {
		return Report{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version, commit, names, fsync, pages string
	var standbys int
	if err := conn.QueryRow(ctx, sqlSettings).Scan(&version, &commit, &names, &fsync, &pages, &standbys); err != nil {
		return Report{}, fmt.Errorf("%w: %w", lease.ErrUnavailable, err)
	}
	schema := h.cfg.Schema
	if schema == "" {
		schema = "tenure"
	}
	r := Report{Server: "PostgreSQL " + version, Details: []Detail{{"schema", schema}, {"standbys", fmt.Sprint(standbys)}}}
	if err := h.Check(ctx); err != nil {
		f, ok := unfit(err)
		if !ok {
			return r, err
		}
		r.Findings = append(r.Findings, f)
	}
	note := func(setting, value, meaning, remedy string) {
		r.Findings = append(r.Findings, Finding{Setting: setting, Value: value, Meaning: meaning, Remedy: remedy})
	}
	const torn = "the server may lose acknowledged writes in a crash of its machine; grants then freeze for MaxTTL"
	if fsync == "off" {
		note("fsync", fsync, torn, "turn it on")
	}
	if pages == "off" {
		note("full_page_writes", pages, torn, "turn it on")
	}
	if commit == "off" {
		note("synchronous_commit", commit, "a crash of the server loses the latest grants; grants then freeze for MaxTTL", "leave it on for the role that Tenure uses")
	}
	if standbys > 0 && names == "" {
		note("synchronous_standby_names", "empty", "the promotion of a standby that lags loses the latest grants; grants then freeze for MaxTTL",
			"name a synchronous standby, or accept it")
	}
	return r, nil
}

// Spoken is what the adapter says, whose readers write Go, for those of a command line.
func Spoken(text string) string {
	return strings.NewReplacer("run Migrate once", `run "tenure migrate"`, "run Migrate", `run "tenure migrate"`,
		"apply SchemaSQL", `apply what "tenure migrate --print" prints`).Replace(text)
}

// unfit is the finding that an error of Check amounts to.
func unfit(err error) (Finding, bool) {
	if setup, ok := errors.AsType[*postgresstore.SetupError](err); ok && !errors.Is(err, lease.ErrUnavailable) {
		return Finding{Fatal: true, Setting: "set-up", Value: setup.Problem, Meaning: "the store does not work", Remedy: Spoken(setup.Remedy)}, true
	}
	if errors.Is(err, lease.ErrReadOnlyStore) {
		return Finding{
			Fatal: true, Setting: "read-only", Value: "yes", Meaning: "the server takes no writes: it is a standby, or default_transaction_read_only is on",
			Remedy: "connect to the primary (target_session_attrs=read-write)",
		}, true
	}
	return Finding{}, false
}

// postgresScratch keeps scratch fleets in a schema of their own.
type postgresScratch struct {
	handle *postgresHandle
	cfg    Config
}

// Scratch implements Handle.
func (h *postgresHandle) Scratch(name string, maxTTL time.Duration) Scratch {
	cfg := h.cfg
	cfg.Schema, cfg.MaxTTL = name, maxTTL
	return &postgresScratch{handle: h, cfg: cfg}
}

// Prepare implements Scratch: it makes the schema.
func (s *postgresScratch) Prepare(ctx context.Context) error {
	first, err := openPostgres(s.cfg)
	if err != nil {
		return err
	}
	defer first.Close()
	if err := first.Migrate(ctx); err != nil {
		return fmt.Errorf("the scratch schema %s cannot be made: %w", s.cfg.Schema, err)
	}
	return nil
}

// Open implements Scratch.
func (s *postgresScratch) Open(fleet string) (Store, error) {
	cfg := s.cfg
	cfg.Fleet = fleet
	return openPostgres(cfg)
}

// Wipe implements Scratch: a database does not forget.
func (s *postgresScratch) Wipe() func(context.Context, string) error { return nil }

// Remove implements Scratch.
func (s *postgresScratch) Remove(ctx context.Context) error {
	conn, err := s.handle.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{s.cfg.Schema}.Sanitize()+" CASCADE")
	return err
}
