package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenure-go/tenure/lease"
)

// ErrFenced means that the lease is not held any more: the transaction must not commit. The error
// is a *FencedError; it also matches lease.ErrLost, since the term is over.
var ErrFenced = errors.New("postgresstore: fenced: the lease is not held")

// FencedError names the lease that a transaction was fenced off for, and why.
type FencedError struct {
	Lease  lease.Lease
	Reason lease.Reason
}

// Error names the key, the token and the reason.
func (e *FencedError) Error() string {
	return fmt.Sprintf("postgresstore: fenced: %q token %d is not held: %s", e.Lease.Key, e.Lease.Token, e.Reason)
}

// Is makes errors.Is hold for ErrFenced and lease.ErrLost.
func (e *FencedError) Is(target error) bool { return target == ErrFenced || target == lease.ErrLost }

// SetupError is a failure that retrying will not mend: a missing schema or right, a wrong
// connection string, an unfit server. It says what to do. Calls that meet it while a fleet runs
// also match lease.ErrUnavailable, so that what is held is kept until its deadline.
type SetupError struct {
	// Problem is what was found, Remedy what to do about it.
	Problem, Remedy string
	// Err is the server's own error, or nil.
	Err error
}

// Error tells the problem, the remedy and the server's error in one line.
func (e *SetupError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("postgresstore: %s; %s", e.Problem, e.Remedy)
	}
	return fmt.Sprintf("postgresstore: %s; %s (%v)", e.Problem, e.Remedy, e.Err)
}

// Unwrap returns the server's own error.
func (e *SetupError) Unwrap() error { return e.Err }

// verdict is what an error says about the call.
type verdict int

const (
	unknown  verdict = iota // it may have happened
	again                   // it did not happen, and the next try may succeed at once
	broken                  // the connection is gone: it may have happened, another connection may answer
	readOnly                // it did not happen: the server takes no writes
	setup                   // it did not happen, and will not until someone mends the set-up
)

// classify maps a driver error to what is known about the call.
func classify(err error) verdict {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return unknown
		}
		return broken
	}
	switch pg.Code {
	case "40001", "40P01", "55P03": // serialization, deadlock, lock not available: rolled back
		return again
	case "23503": // the session was purged during a grant, or named by one during its purge: the next try sees it
		return again
	case "25006", "55000": // read-only transaction; "recovery is in progress"
		return readOnly
	case "57P01", "57P02", "57P03", "57P05", "08006", "08003", "08000", "08001", "08004", "08007": // shut down, not up yet, connection lost
		return broken
	case "28000", "28P01", "3D000", "3F000", "42P01", "42703", "42501", "42883", "0LP01", "08P01":
		return setup
	}
	return unknown
}

// undone reports whether a call whose connection broke is known not to have happened and not to
// happen later: nothing was sent, or the server itself ended the transaction. A pooler's word for a
// lost server is no such thing.
func undone(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(pg.Code, "57P0")
	}
	var dial *pgconn.ConnectError
	return errors.As(err, &dial) || pgconn.SafeToRetry(err)
}

// remedy turns a set-up failure into one sentence that says what to do.
func (s *Store) remedy(err error) *SetupError {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return &SetupError{Problem: "the server cannot be used", Remedy: "see the error", Err: err}
	}
	e := &SetupError{Err: err}
	switch pg.Code {
	case "28000", "28P01":
		e.Problem, e.Remedy = "the server refused the login", "check user, password and pg_hba.conf"
	case "3D000":
		e.Problem, e.Remedy = "the database does not exist", "create it, or mend the connection string"
	case "3F000", "42P01":
		e.Problem = fmt.Sprintf("schema %q is missing or not complete", s.cfg.Schema)
		e.Remedy = "run Migrate once with a role that may create it, or apply SchemaSQL"
	case "42703", "42883":
		e.Problem = fmt.Sprintf("schema %q or the server does not fit this version", s.cfg.Schema)
		e.Remedy = "run Migrate; PostgreSQL 13 is the oldest server that works"
	case "42501", "0LP01":
		e.Problem = "the role lacks a right"
		e.Remedy = fmt.Sprintf("grant USAGE on schema %q and SELECT, INSERT, UPDATE, DELETE on its tables", s.cfg.Schema)
	default:
		e.Problem, e.Remedy = "the server refused the connection", "check the connection string; a pooler takes no startup options"
	}
	return e
}

// outcome gives a failed call its contract: exactly one sentinel, and the driver's error beneath it.
func (s *Store) outcome(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	switch classify(err) {
	case readOnly:
		return fmt.Errorf("postgresstore: %s: %w: connect to the primary (target_session_attrs=read-write): %w", op, lease.ErrReadOnlyStore, err)
	case setup:
		err = s.remedy(err)
	}
	if why := ended(ctx); why != nil {
		err = fmt.Errorf("%w: %w", why, err)
	}
	return unavailable(op, err)
}

var errClosing = errors.New("the store was closed meanwhile")

// ended is why the context ended, matching both its error and its cause; nil where it has not.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(cause, lease.ErrClosed):
		return errClosing // a call that was cut short is unknown, not refused
	case errors.Is(cause, err):
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func unavailable(op string, err error) error {
	if errors.Is(err, lease.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("postgresstore: %s: %w: %w", op, lease.ErrUnavailable, err)
}

func invalid(field, value, remedy string) error {
	return &lease.InvalidError{Field: field, Value: value, Remedy: remedy}
}

// quoted is the schema as it is written in a statement.
func quoted(schema string) string { return pgx.Identifier{schema}.Sanitize() }
