package postgresstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tenure-go/tenure/lease"
)

const (
	// FOR KEY SHARE is the weakest lock, and the right one: it lets the holder's session be renewed
	// and its lease be released, verified or revoked, and keeps out what hands the key to another:
	// the grant's FOR UPDATE, and any change of token, since token is a column of a unique index.
	// What is read of the session may be a moment old; the lock is what counts: it is on the
	// version of the row that names this session and token, so no successor exists yet.
	sqlFence = `SELECT s.ttl_ms FROM {s}.lease l JOIN {s}.session s ON s.fleet = l.fleet AND s.id = l.session
		JOIN {s}.fleet f ON f.fleet = l.fleet AND f.incarnation = l.incarnation AND f.life = {life}
		WHERE l.fleet = $1 AND l.key = $2 AND l.session = $3 AND l.token = $4::bigint
			AND s.lapsed_in IS NULL AND s.expires_at > clock_timestamp() AND (l.revoked_until IS NULL OR l.revoked_until > clock_timestamp())
		FOR KEY SHARE OF l`
	sqlFenceWhy = `SELECT l.session = $3 AND l.token = $4::bigint, l.token > $4::bigint, f.incarnation = l.incarnation AND f.life = {life},
			s.lapsed_in IS NULL AND s.expires_at > clock_timestamp(), l.revoked_until IS NOT NULL
		FROM {s}.fleet f LEFT JOIN {s}.lease l ON l.fleet = f.fleet AND l.key = $2
		LEFT JOIN {s}.session s ON s.fleet = l.fleet AND s.id = l.session WHERE f.fleet = $1`
	sqlFenceIdle = `SELECT set_config('idle_in_transaction_session_timeout', $1, true)`
)

// Fence lets tx commit only while the lease is held: it locks the lease's row until tx ends, and
// nobody can be granted the key meanwhile. It returns a *FencedError, which matches ErrFenced,
// where the lease is not held any more; roll back then. An error that matches
// lease.ErrUnavailable says that the server was restarted and the lease not verified since: roll
// back and try again in a moment. Any other error is the driver's own.
//
// Call it before the writes that it guards; in REPEATABLE READ and SERIALIZABLE as the first
// statement, since the snapshot of such a transaction is taken then and a lease granted later is
// not in it. It may be called for several leases. It never commits, rolls back or sets anything.
//
// A fence does not hold behind a savepoint: a rollback to one drops the locks taken since. Fence
// the outer transaction, before any savepoint. While tx is open the key cannot change hands, so keep
// it short, or use FencedFunc, which bounds an idle one.
func (s *Store) Fence(ctx context.Context, tx pgx.Tx, l lease.Lease) error {
	_, err := s.fenced(func(q string, args []any, dest []any) error {
		return tx.QueryRow(ctx, q, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(dest...)
	}, l)
	return err
}

// FenceSQL is Fence for a transaction of database/sql on pgx's stdlib driver.
func (s *Store) FenceSQL(ctx context.Context, tx *sql.Tx, l lease.Lease) error {
	_, err := s.fenced(func(q string, args []any, dest []any) error {
		return tx.QueryRowContext(ctx, q, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(dest...)
	}, l)
	return err
}

// fenced locks the lease's row and returns the session's TTL in milliseconds.
func (s *Store) fenced(query func(q string, args []any, dest []any) error, l lease.Lease) (ttl int, err error) {
	if err := lease.CheckKey(l.Key); err != nil {
		return 0, err
	}
	args := []any{s.fleet, l.Key, l.Session, asToken(l.Token)}
	err = query(s.q.fence, args, []any{&ttl})
	if !absent(err) {
		return ttl, err
	}
	var same, newer, counts, alive, revoked *bool
	err = query(s.q.fenceWhy, args, []any{&same, &newer, &counts, &alive, &revoked})
	is := func(b *bool) bool { return b != nil && *b }
	switch {
	case err != nil && !absent(err):
		return 0, err
	case is(same) && !is(counts):
		return 0, unavailable("fence", errUnverified)
	case is(same) && is(revoked):
		return 0, &FencedError{Lease: l, Reason: lease.ReasonRevoked}
	case is(same) && !is(alive):
		return 0, &FencedError{Lease: l, Reason: lease.ReasonExpired}
	case is(newer):
		return 0, &FencedError{Lease: l, Reason: lease.ReasonTaken}
	}
	return 0, &FencedError{Lease: l, Reason: lease.ReasonForgotten}
}

var errUnverified = errors.New("the server was restarted and the lease has not been verified since; try again")

func absent(err error) bool { return errors.Is(err, pgx.ErrNoRows) || errors.Is(err, sql.ErrNoRows) }

// FencedFunc runs f in a transaction that is fenced by the lease, and commits it where f returns
// nil. The transaction is rolled back where f returns an error or panics, and by the server where it is
// idle between two statements for longer than the session's TTL: a holder that hangs in
// the middle keeps the key from others for that long at most. f must use tx for everything that is to be
// fenced. Errors of f are returned as they are.
//
// A commit that the server refused under opts (a serialization failure) returns the driver's error:
// nothing was written. The outcome of one whose answer was lost is unknown: lease.ErrUnavailable.
func (s *Store) FencedFunc(ctx context.Context, l lease.Lease, opts pgx.TxOptions, f func(ctx context.Context, tx pgx.Tx) error) error {
	const op = "fenced function"
	if s.life.Err() != nil {
		return lease.ErrClosed
	}
	if ctx.Err() != nil {
		return unavailable(op, ended(ctx))
	}
	var inner error
	err := s.bulk.do(ctx, func(conn *pgx.Conn) error {
		tx, err := conn.BeginTx(ctx, opts)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // no effect after a commit
		// In the fence's own statement the session's TTL is not known yet; the fence is one round
		// trip long, and whatever it waits for is bounded by ctx.
		ttl, err := s.fenced(func(q string, args []any, dest []any) error {
			return tx.QueryRow(ctx, q, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(dest...)
		}, l)
		if err != nil {
			inner = err
			return nil
		}
		if _, err := tx.Exec(ctx, s.q.fenceIdle, pgx.QueryExecModeExec, fmt.Sprint(ttl)); err != nil {
			return err
		}
		if inner = f(ctx, tx); inner != nil {
			return nil
		}
		return tx.Commit(ctx)
	})
	switch {
	case inner != nil:
		return inner
	case err != nil && classify(err) == again:
		return err // rolled back; the caller's own isolation level asked for it
	}
	return s.outcome(ctx, op, err)
}
