package rivals

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

const rawSchema = `
	CREATE SCHEMA IF NOT EXISTS raw;
	CREATE TABLE IF NOT EXISTS raw.session (id text PRIMARY KEY, expires_at timestamptz NOT NULL) WITH (fillfactor = 50);
	CREATE TABLE IF NOT EXISTS raw.lease (key text PRIMARY KEY, session text, token bigint NOT NULL) WITH (fillfactor = 50);
	CREATE TABLE IF NOT EXISTS raw.many (key text PRIMARY KEY, owner text NOT NULL, expires_at timestamptz NOT NULL) WITH (fillfactor = 50);`

const (
	renewSQL = `UPDATE raw.session SET expires_at = clock_timestamp() + interval '60 s' WHERE id = $1 AND expires_at > clock_timestamp()`
	// A lease is granted if it is free or its session is over, to a session that lives.
	lockSQL = `INSERT INTO raw.lease AS l (key, session, token)
		SELECT $1, s.id, 1 FROM raw.session s WHERE s.id = $2 AND s.expires_at > clock_timestamp()
		ON CONFLICT (key) DO UPDATE SET session = excluded.session, token = l.token + 1
		WHERE l.session IS NULL OR NOT EXISTS (SELECT FROM raw.session o WHERE o.id = l.session AND o.expires_at > clock_timestamp())
		RETURNING token`
	unlockSQL     = `UPDATE raw.lease SET session = NULL WHERE key = $1 AND session = $2`
	unlockTellSQL = `WITH u AS (UPDATE raw.lease SET session = NULL WHERE key = $1 AND session = $2 RETURNING key)
		SELECT pg_notify('raw_hints', key) FROM u`
	unnestSQL = `UPDATE raw.many SET expires_at = clock_timestamp() + interval '1 h' FROM unnest($1::text[]) k WHERE many.key = k AND owner = $2`
)

// RawPostgres is hand-written SQL on one connection; every statement is prepared and commits by itself.
type RawPostgres struct {
	conn  *pgx.Conn
	owner string
	keys  []string
}

// NewRawPostgres makes the tables where they are missing, and a session of the owner.
func NewRawPostgres(ctx context.Context, conn *pgx.Conn, owner string) (*RawPostgres, error) {
	if _, err := conn.Exec(ctx, rawSchema); err != nil {
		return nil, err
	}
	_, err := conn.Exec(ctx, `INSERT INTO raw.session VALUES ($1, clock_timestamp() + interval '1 h')
		ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`, owner)
	return &RawPostgres{conn: conn, owner: owner}, err
}

// Commit is the smallest transaction that must reach the disk.
func (r *RawPostgres) Commit(ctx context.Context) error {
	_, err := r.conn.Exec(ctx, `SELECT pg_logical_emit_message(true, 'x', 'y')`)
	return err
}

// RenewSession extends one row.
func (r *RawPostgres) RenewSession(ctx context.Context) error {
	return r.one(ctx, renewSQL, r.owner)
}

func (r *RawPostgres) one(ctx context.Context, sql string, args ...any) error {
	tag, err := r.conn.Exec(ctx, sql, args...)
	if err == nil && tag.RowsAffected() != 1 {
		err = errTaken
	}
	return err
}

// Fill makes n leases with an expiry of their own.
func (r *RawPostgres) Fill(ctx context.Context, n int) error {
	r.keys = make([]string, n)
	for i := range r.keys {
		r.keys[i] = rawKey(i)
	}
	_, err := r.conn.Exec(ctx, `INSERT INTO raw.many SELECT k, $2, clock_timestamp() + interval '1 h' FROM unnest($1::text[]) k`, r.keys, r.owner)
	return err
}

// RenewBatch extends them in one statement.
func (r *RawPostgres) RenewBatch(ctx context.Context) error {
	tag, err := r.conn.Exec(ctx, unnestSQL, r.keys, r.owner)
	if err == nil && int(tag.RowsAffected()) != len(r.keys) {
		err = errTaken
	}
	return err
}

func (r *RawPostgres) try(ctx context.Context) (bool, error) {
	var token int64
	err := r.conn.QueryRow(ctx, lockSQL, "raw", r.owner).Scan(&token)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Pair acquires one lease with a fencing token, and releases it.
func (r *RawPostgres) Pair(ctx context.Context) error {
	ok, err := r.try(ctx)
	if err != nil || !ok {
		return errors.Join(err, errTaken)
	}
	return r.one(ctx, unlockSQL, "raw", r.owner)
}

// Lock returns this side of a lock whose waiters are woken by NOTIFY on a connection of its own.
func (r *RawPostgres) Lock(ctx context.Context, ear *pgx.Conn) (Lock, error) {
	_, err := ear.Exec(ctx, "LISTEN raw_hints")
	return &rawPGLock{r, ear}, err
}

type rawPGLock struct {
	raw *RawPostgres
	ear *pgx.Conn
}

// Lock implements Lock.
func (l *rawPGLock) Lock(ctx context.Context) error {
	for {
		if ok, err := l.raw.try(ctx); ok || err != nil {
			return err
		}
		if _, err := l.ear.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}

// Unlock implements Lock.
func (l *rawPGLock) Unlock(ctx context.Context) error {
	return l.raw.one(ctx, unlockTellSQL, "raw", l.raw.owner)
}
