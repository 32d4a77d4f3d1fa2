package postgresstore

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenure-go/tenure/lease"
)

// call is one message to the server: statements in one READ COMMITTED transaction, then perhaps a
// hint, which is sent only once that transaction has committed and whose failure is nobody's.
type call struct {
	op    string
	lane  lane
	stmts []stmt
	hint  *stmt
	// once: what the call grants or extends must not happen after its answer. A copy of it that was
	// lost with its connection may still be carried out later, so it is sent again only where the
	// server itself said that it was not carried out.
	once bool
	// unawaited: the call's commit need not be on disk when it is answered. It is within a second, and before any
	// later commit that is awaited.
	unawaited bool
}

const (
	begin  = "BEGIN ISOLATION LEVEL READ COMMITTED"
	commit = "COMMIT"
	lazily = "SET LOCAL synchronous_commit = off"

	// maxBroken is how often a call is sent again after its connection broke. After a restart of the
	// server each idle connection of a pool is found dead once.
	maxBroken = 4
	// rest is the mean pause before a call is sent again.
	rest = 10 * time.Millisecond
)

// bound prepares a call: it refuses a closed store and a context that has ended, and limits the
// context to CallTimeout and the store's life.
func (s *Store) bound(ctx context.Context, op string) (context.Context, func(), error) {
	if err := s.up(ctx, op); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { end(lease.ErrClosed) })
	return ctx, func() { stop(); end(nil); cancel() }, nil
}

// run sends the call until its outcome is known or its time is up, and returns the rows of each
// statement. Sending twice is safe: every statement is written for it; see call.once.
func (s *Store) run(ctx context.Context, c call) ([][][][]byte, error) {
	ctx, cancel, err := s.bound(ctx, c.op)
	if err != nil {
		return nil, err
	}
	defer cancel()
	for dead := 0; ; {
		rows, err := s.once(ctx, c)
		if err == nil {
			return rows, nil
		}
		switch classify(err) {
		case again:
		case broken:
			if dead++; dead > maxBroken || c.once && !undone(err) {
				return nil, s.outcome(ctx, c.op, err)
			}
		default:
			return nil, s.outcome(ctx, c.op, err)
		}
		if !pause(ctx, rand.N(2*rest)) {
			return nil, s.outcome(ctx, c.op, err)
		}
	}
}

// pause waits; false means that the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// once sends the call one time.
func (s *Store) once(ctx context.Context, c call) (rows [][][][]byte, err error) {
	err = c.lane.do(ctx, func(conn *pgx.Conn) error {
		msg := make([]stmt, 0, len(c.stmts)+4)
		msg = append(msg, stmt{sql: begin})
		if c.unawaited {
			msg = append(msg, stmt{sql: lazily})
		}
		first := len(msg)
		msg = append(msg, c.stmts...)
		msg = append(msg, stmt{sql: commit})
		done := len(msg)
		if c.hint != nil {
			msg = append(msg, *c.hint)
		}
		all, err := send(ctx, conn.PgConn(), msg)
		if len(all) >= done { // committed: only the hint can have failed
			rows = all[first : done-1]
			return nil
		}
		if err != nil && classify(err) == readOnly {
			_ = conn.Close(ctx) // the next connection may lead to the primary
		}
		if !conn.IsClosed() && conn.PgConn().TxStatus() == 'E' {
			_, _ = send(ctx, conn.PgConn(), []stmt{{sql: "ROLLBACK"}})
		}
		return err
	})
	return rows, err
}

// up refuses a closed store and a context that has ended.
func (s *Store) up(ctx context.Context, op string) error {
	if s.life.Err() != nil {
		return lease.ErrClosed
	}
	if ctx.Err() != nil {
		return unavailable(op, ended(ctx))
	}
	return nil
}
