package postgresstore

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migration is one step. compatible is the oldest version of this package's schema knowledge that
// still works once the step is done: additions keep it where it was, and a step that older
// binaries do not survive raises it.
type migration struct {
	version, compatible int
	file                string
}

// steps returns all migrations in order. A new one is appended; none is ever changed.
func steps() []migration {
	return []migration{
		{version: 1, compatible: 1, file: "migrations/0001_init.sql"},
		{version: 2, compatible: 1, file: "migrations/0002_targets.sql"},
	}
}

// SchemaVersion is the version of the schema that this package needs at least.
func SchemaVersion() int { return steps()[len(steps())-1].version }

const sqlHasVersion = `SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1 AND c.relname = 'schema_version')`

const sqlVersionTable = `CREATE TABLE {s}.schema_version (
	one boolean PRIMARY KEY DEFAULT true CHECK (one), -- a single row
	version integer NOT NULL,    -- the last migration that was applied
	compatible integer NOT NULL, -- the oldest version that works with it
	applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO {s}.schema_version (version, compatible) VALUES (0, 0);
`

// SchemaSQL returns the statements that make the whole schema, for those who apply migrations
// themselves: the same that Migrate runs on an empty database. An empty name means "tenure".
func SchemaSQL(schema string) (string, error) {
	cfg, err := Config{Schema: schema}.resolve()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(fill(cfg.Schema, "BEGIN;\nCREATE SCHEMA IF NOT EXISTS {s};\n"+sqlVersionTable))
	for _, m := range steps() {
		sql, err := m.sql(cfg.Schema)
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + sql)
	}
	b.WriteString("\nCOMMIT;\n")
	return b.String(), nil
}

// sql is the step and its entry in the version table.
func (m migration) sql(schema string) (string, error) {
	body, err := migrations.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	return fill(schema, fmt.Sprintf("%s\nUPDATE {s}.schema_version SET version = %d, compatible = %d, applied_at = clock_timestamp();\n",
		body, m.version, m.compatible)), nil
}

// version is what the schema says of itself; the zero value is an absent schema.
type version struct{ version, compatible int }

// readVersion asks without any lock that another could hold. It looks the table up in the
// catalogue: to_regclass answers from the backend's cache, which after a wait for the migration lock may
// not have heard yet that the table is there.
func (s *Store) readVersion(ctx context.Context, conn *pgx.Conn) (v version, err error) {
	rows, err := send(ctx, conn.PgConn(), []stmt{{sql: sqlHasVersion, args: [][]byte{text(s.cfg.Schema)}}})
	if err != nil || len(rows[0]) == 0 || !(&cells{row: rows[0][0]}).bool() {
		return v, err
	}
	rows, err = send(ctx, conn.PgConn(), []stmt{{sql: fill(s.cfg.Schema, `SELECT version, compatible FROM {s}.schema_version`)}})
	if err != nil || len(rows[0]) == 0 {
		return v, err
	}
	c := cells{row: rows[0][0]}
	v.version, v.compatible = int(c.int()), int(c.int())
	return v, c.err
}

// fit says whether this package works with the schema.
func (s *Store) fit(v version) error {
	switch {
	case v.compatible > SchemaVersion():
		return &SetupError{Problem: fmt.Sprintf("schema %q is at version %d, which needs a release that knows version %d, and this one knows %d", s.cfg.Schema, v.version, v.compatible, SchemaVersion()),
			Remedy: "upgrade this program"}
	case v.version < SchemaVersion() && v.version == 0:
		return &SetupError{Problem: fmt.Sprintf("schema %q is missing", s.cfg.Schema), Remedy: "run Migrate once with a role that may create it, or apply SchemaSQL"}
	case v.version < SchemaVersion():
		return &SetupError{Problem: fmt.Sprintf("schema %q is at version %d, and this release needs %d", s.cfg.Schema, v.version, SchemaVersion()),
			Remedy: "run Migrate with a role that may change it"}
	}
	return nil
}

// Migrate brings the schema to the version that this package needs. Where it is there already,
// which is found out without a lock, it changes nothing and needs no right to create anything; a
// newer schema that is compatible is left as it is. Any number of processes may run it at once:
// one does the work in one transaction, the others wait for it, and one that dies leaves nothing behind. It
// does not provision fleets. ctx bounds it; CallTimeout does not.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.up(ctx, "migrate"); err != nil {
		return err
	}
	var unfit error
	err := s.bulk.do(ctx, func(conn *pgx.Conn) error {
		v, err := s.readVersion(ctx, conn)
		if err != nil {
			return err
		}
		if v.version >= SchemaVersion() {
			unfit = s.fit(v)
			return nil
		}
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // no effect after a commit
		if err := s.migrate(ctx, conn); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	if unfit != nil {
		return unfit
	}
	return s.outcome(ctx, "migrate", err)
}

// migrate applies what is missing, inside a transaction. The lock ends with the transaction, so it
// works through a transaction pooler, and a process that dies holds nobody up. DDL waits for
// running transactions at most lock_timeout, since everyone else queues behind it.
func (s *Store) migrate(ctx context.Context, conn *pgx.Conn) error {
	lock := stmt{sql: `SELECT pg_advisory_xact_lock(hashtextextended($1, 7446557))`, args: [][]byte{text("tenure migrate " + s.cfg.Schema)}}
	if _, err := send(ctx, conn.PgConn(), []stmt{lock, {sql: `SET LOCAL lock_timeout = '10s'`}}); err != nil {
		return err
	}
	v, err := s.readVersion(ctx, conn) // another may have been faster
	if err != nil {
		return err
	}
	if v.version == 0 {
		if err := s.create(ctx, conn); err != nil {
			return err
		}
	}
	for _, m := range steps() {
		if m.version <= v.version {
			continue
		}
		sql, err := m.sql(s.cfg.Schema)
		if err != nil {
			return err
		}
		if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("migration %d: %w", m.version, err)
		}
	}
	return nil
}

// create makes the schema where a DBA has not, and the version table.
func (s *Store) create(ctx context.Context, conn *pgx.Conn) error {
	rows, err := send(ctx, conn.PgConn(), []stmt{{sql: `SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)`, args: [][]byte{text(s.cfg.Schema)}}})
	if err != nil {
		return err
	}
	sql := sqlVersionTable
	if len(rows[0]) == 0 || !(&cells{row: rows[0][0]}).bool() {
		sql = "CREATE SCHEMA {s};\n" + sql
	}
	_, err = conn.PgConn().Exec(ctx, fill(s.cfg.Schema, sql)).ReadAll()
	return err
}
