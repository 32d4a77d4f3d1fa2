package postgresstore

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/tenure-go/tenure/lease"
)

const (
	sqlServer = `SELECT current_setting('server_version_num')::integer, current_setting('server_encoding'), pg_is_in_recovery(),
		current_setting('default_transaction_read_only') = 'on', current_setting('fsync') = 'off', current_setting('full_page_writes') = 'off'`
	// The two indexes that fencing and purging stand on, plain and whole, and the rights on every table.
	sqlShape = `SELECT
		(SELECT count(*) FROM pg_catalog.pg_index i WHERE i.indrelid = to_regclass($1 || '.lease') AND i.indisunique AND i.indisvalid
			AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = 3
			AND pg_get_indexdef(i.indexrelid, 3, true) = 'token'),
		(SELECT count(*) FROM pg_catalog.pg_constraint c WHERE c.conrelid = to_regclass($1 || '.lease') AND c.contype = 'f' AND c.confdeltype = 'a' AND c.convalidated),
		(SELECT count(*) FROM pg_catalog.pg_class c WHERE c.oid IN (to_regclass($1 || '.lease'), to_regclass($1 || '.session'), to_regclass($1 || '.fleet')) AND c.relpersistence <> 'p'),
		(SELECT string_agg(t, ', ') FROM unnest(ARRAY['fleet','session','lease','member','status_owner','status','plan','target']) t
			WHERE NOT (has_table_privilege($1 || '.' || t, 'SELECT') AND has_table_privilege($1 || '.' || t, 'INSERT')
				AND has_table_privilege($1 || '.' || t, 'UPDATE') AND has_table_privilege($1 || '.' || t, 'DELETE')))`

	oldestServer = 130000
)

// Check looks at the server and the schema before work depends on them: version, encoding,
// whether writes are taken, the schema's version, the indexes that fencing stands on, and the
// role's rights. The error is a *SetupError that says what to do, or lease.ErrReadOnlyStore.
// Settings that endanger data in a crash (fsync, full_page_writes off) are only logged.
func (s *Store) Check(ctx context.Context) error {
	ctx, cancel, err := s.bound(ctx, "check")
	if err != nil {
		return err
	}
	defer cancel()
	var unfit error
	err = s.bulk.do(ctx, func(conn *pgx.Conn) error {
		if unfit, err = s.checkServer(ctx, conn); unfit != nil || err != nil {
			return err
		}
		v, err := s.readVersion(ctx, conn)
		if err != nil {
			return err
		}
		if unfit = s.fit(v); unfit != nil {
			return nil //nolint:nilerr // it is the answer, not a failure to ask
		}
		unfit, err = s.checkShape(ctx, conn)
		return err
	})
	if unfit != nil {
		return unfit
	}
	return s.outcome(ctx, "check", err)
}

func (s *Store) checkServer(ctx context.Context, conn *pgx.Conn) (unfit, err error) {
	rows, err := send(ctx, conn.PgConn(), []stmt{{sql: sqlServer}})
	if err != nil {
		return nil, err
	}
	c := cells{row: rows[0][0]}
	number, encoding := c.int(), c.text()
	standby, readOnly, noSync, torn := c.bool(), c.bool(), c.bool(), c.bool()
	switch {
	case c.err != nil:
		return nil, c.err
	case number < oldestServer:
		return &SetupError{Problem: fmt.Sprintf("the server's version is %d", number/10000), Remedy: "use PostgreSQL 13 or later"}, nil
	case encoding != "UTF8":
		return &SetupError{Problem: "the database's encoding is " + encoding, Remedy: "use a database with encoding UTF8: keys are any valid UTF-8"}, nil
	case standby || readOnly:
		what := "default_transaction_read_only is on"
		if standby {
			what = "the server is a standby"
		}
		return fmt.Errorf("postgresstore: check: %w: %s; connect to the primary (target_session_attrs=read-write)", lease.ErrReadOnlyStore, what), nil
	}
	if noSync || torn {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "tenure: the server may lose acknowledged writes in a crash of its machine; turn fsync and full_page_writes on",
			slog.Bool("fsync", !noSync), slog.Bool("full_page_writes", !torn))
	}
	return nil, nil
}

func (s *Store) checkShape(ctx context.Context, conn *pgx.Conn) (unfit, err error) {
	rows, err := send(ctx, conn.PgConn(), []stmt{{sql: sqlShape, args: [][]byte{text(quoted(s.cfg.Schema))}}})
	if err != nil {
		return nil, err
	}
	c := cells{row: rows[0][0]}
	fences, keys, unlogged, denied := c.int(), c.int(), c.int(), c.text()
	switch {
	case c.err != nil:
		return nil, c.err
	case fences == 0:
		unfit = &SetupError{Problem: fmt.Sprintf("table %s.lease has no plain unique index on (fleet, key, token)", quoted(s.cfg.Schema)), Remedy: "create it again: without it a fence does not stop every takeover"}
	case keys == 0:
		unfit = &SetupError{Problem: fmt.Sprintf("table %s.lease has no plain foreign key to session", quoted(s.cfg.Schema)), Remedy: "create it again, without ON DELETE: without it a session may be purged that a lease names"}
	case unlogged > 0:
		unfit = &SetupError{Problem: "a table of schema " + quoted(s.cfg.Schema) + " is unlogged", Remedy: "ALTER TABLE ... SET LOGGED: an unlogged table is empty after a crash"}
	case denied != "":
		unfit = &SetupError{Problem: "the role lacks rights on " + denied + " in schema " + quoted(s.cfg.Schema), Remedy: "grant SELECT, INSERT, UPDATE and DELETE on them"}
	}
	return unfit, nil
}
