package postgresstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/tenure-go/tenure/lease"
)

// dial opens a connection as the application would.
func (s *server) dial(t testing.TB) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(ctx(t), s.dsn())
	must(t, err)
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// expire makes the session's time run out at once.
func (s *server) expire(t testing.TB, sess lease.Session) {
	t.Helper()
	s.exec(t, "UPDATE tenure.session SET expires_at = clock_timestamp() - interval '1 second' WHERE id = $1", sess.ID)
}

var levels = []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}

func TestFenceHoldsOffTakeovers(t *testing.T) {
	srv := needServer(t)
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			s := migrated(t, srv, Config{})
			a, b := begun(t, s, 10*time.Second), begun(t, s, 10*time.Second)
			l := granted(t, s, a, "k", "other")[0]
			conn := srv.dial(t)
			tx, err := conn.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: level})
			must(t, err)
			must(t, s.Fence(ctx(t), tx, l))

			// The holder's own calls are not held up by the open fence.
			best := time.Hour
			for range 20 { // a busy machine delays some, an open fence would delay each
				begun := time.Now()
				_, err = s.Renew(ctx(t), a)
				must(t, err)
				best = min(best, time.Since(begun))
			}
			if best >= 100*time.Millisecond {
				t.Fatalf("with an open fence each renewal took %v or more", best)
			}
			_, err = s.Verify(ctx(t), a, []lease.Lease{l})
			must(t, err)

			// The session runs out: its other keys go at once, the fenced one is only busy.
			srv.expire(t, a)
			g, err := s.Acquire(ctx(t), b, []string{"k", "other", "third"})
			must(t, err)
			if len(g.Leases) != 2 || len(g.Refused) != 1 || g.Refused[0].Key != "k" || !g.Refused[0].Busy || g.Refused[0].RetryAfter <= 0 {
				t.Fatalf("under an open fence: granted %+v, refused %+v", g.Leases, g.Refused)
			}
			// Not even a hand-written takeover gets past it.
			impatient := srv.dial(t)
			_, err = impatient.Exec(ctx(t), "SET lock_timeout = '200ms'")
			must(t, err)
			_, err = impatient.Exec(ctx(t), "UPDATE tenure.lease SET token = token + 1 WHERE fleet = $1 AND key = 'k'", s.fleet)
			var pg *pgconn.PgError
			if !errors.As(err, &pg) || pg.Code != "55P03" {
				t.Fatalf("a hand-written takeover under an open fence: %v, want lock_not_available", err)
			}
			must(t, tx.Commit(ctx(t)))
			next := granted(t, s, b, "k")[0]
			if next.Token <= l.Token {
				t.Fatal("the token fell")
			}

			tx, err = conn.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: level})
			must(t, err)
			err = s.Fence(ctx(t), tx, l)
			var fenced *FencedError
			if !errors.Is(err, ErrFenced) || !errors.Is(err, lease.ErrLost) || !errors.As(err, &fenced) || fenced.Reason != lease.ReasonTaken {
				t.Fatalf("Fence after the takeover: %v", err)
			}
			must(t, tx.Rollback(ctx(t)))
		})
	}
}

func TestFenceSaysWhy(t *testing.T) {
	srv := needServer(t)
	s := migrated(t, srv, Config{})
	a := begun(t, s, 10*time.Second)
	ls := granted(t, s, a, "released", "revoked", "expired")
	conn := srv.dial(t)
	why := func(l lease.Lease) lease.Reason {
		tx, err := conn.Begin(ctx(t))
		must(t, err)
		defer tx.Rollback(context.Background())
		err = s.Fence(ctx(t), tx, l)
		var f *FencedError
		if err == nil || !errors.As(err, &f) {
			t.Fatalf("Fence: %v", err)
		}
		return f.Reason
	}
	by := map[string]lease.Lease{}
	for _, l := range ls {
		by[l.Key] = l
	}
	must(t, s.Release(ctx(t), a, []lease.Lease{by["released"]}))
	if r := why(by["released"]); r != lease.ReasonForgotten {
		t.Error("released:", r)
	}
	must(t, s.Revoke(ctx(t), "revoked"))
	srv.exec(t, "UPDATE tenure.lease SET revoked_until = clock_timestamp() WHERE fleet = $1 AND key = 'revoked'", s.fleet)
	if r := why(by["revoked"]); r != lease.ReasonRevoked {
		t.Error("revoked:", r)
	}
	srv.expire(t, a)
	if r := why(by["expired"]); r != lease.ReasonExpired {
		t.Error("expired:", r)
	}
	if r := why(lease.Lease{Key: "never", Token: 1, Session: a.ID}); r != lease.ReasonForgotten {
		t.Error("never:", r)
	}
	// A restarted server: the lease is not lost, and not proven either.
	b := begun(t, s, 10*time.Second)
	l := granted(t, s, b, "k")[0]
	srv.exec(t, "UPDATE tenure.fleet SET life = 'another' WHERE fleet = $1", s.fleet)
	tx, err := conn.Begin(ctx(t))
	must(t, err)
	if err := s.Fence(ctx(t), tx, l); !errors.Is(err, lease.ErrUnavailable) || errors.Is(err, ErrFenced) {
		t.Errorf("Fence in a new life of the server: %v", err)
	}
	must(t, tx.Rollback(ctx(t)))
	_, err = s.Renew(ctx(t), b)
	must(t, err)
	v, err := s.Verify(ctx(t), b, []lease.Lease{l})
	must(t, err)
	if len(v.Lost) > 0 || v.Incarnation.FrozenFor == 0 {
		t.Fatalf("%+v", v)
	}
	tx, err = conn.Begin(ctx(t))
	must(t, err)
	must(t, s.Fence(ctx(t), tx, l))
	must(t, tx.Rollback(ctx(t)))
}

// A rollback to a savepoint gives back the locks taken behind it: this is what the documentation warns of.
func TestFenceBehindSavepointDoesNotHold(t *testing.T) {
	srv := needServer(t)
	s := migrated(t, srv, Config{})
	a, b := begun(t, s, 10*time.Second), begun(t, s, 10*time.Second)
	l := granted(t, s, a, "k")[0]
	tx, err := srv.dial(t).Begin(ctx(t))
	must(t, err)
	defer tx.Rollback(context.Background())
	inner, err := tx.Begin(ctx(t)) // a savepoint
	must(t, err)
	must(t, s.Fence(ctx(t), inner, l))
	must(t, inner.Rollback(ctx(t)))
	srv.expire(t, a)
	granted(t, s, b, "k") // while tx is still open
}

func TestFenceSQL(t *testing.T) {
	srv := needServer(t)
	db, err := sql.Open("pgx", srv.dsn())
	must(t, err)
	defer db.Close()
	fleet := freshFleet()
	s, err := NewSQL(ctx(t), db, fleet, Config{})
	must(t, err)
	defer s.Close()
	must(t, s.Migrate(ctx(t)))
	must(t, s.Provision(ctx(t)))
	a, b := begun(t, s, 10*time.Second), begun(t, s, 10*time.Second)
	l := granted(t, s, a, "k")[0]
	tx, err := db.BeginTx(ctx(t), nil)
	must(t, err)
	must(t, s.FenceSQL(ctx(t), tx, l))
	srv.expire(t, a)
	g, err := s.Acquire(ctx(t), b, []string{"k"})
	must(t, err)
	if len(g.Leases) != 0 {
		t.Fatal("taken over under an open fence")
	}
	must(t, tx.Commit())
	granted(t, s, b, "k")
	tx, err = db.BeginTx(ctx(t), nil)
	must(t, err)
	if err := s.FenceSQL(ctx(t), tx, l); !errors.Is(err, ErrFenced) {
		t.Fatal(err)
	}
	must(t, tx.Rollback())
	must(t, s.FencedFunc(ctx(t), granted(t, s, b, "k2")[0], pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT 1")
		return err
	}))
}

func TestFencedFunc(t *testing.T) {
	srv := needServer(t)
	s := migrated(t, srv, Config{})
	srv.exec(t, "DROP TABLE IF EXISTS public.written; CREATE TABLE public.written (n int)")
	a, b := begun(t, s, 1500*time.Millisecond), begun(t, s, 10*time.Second)
	l := granted(t, s, a, "k")[0]
	write := func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO public.written VALUES (1)")
		return err
	}
	must(t, s.FencedFunc(ctx(t), l, pgx.TxOptions{}, write))
	mine := errors.New("mine")
	if err := s.FencedFunc(ctx(t), l, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		return errors.Join(write(ctx, tx), mine)
	}); !errors.Is(err, mine) {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = s.FencedFunc(ctx(t), l, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
			_ = write(ctx, tx)
			panic("of the function")
		})
	}()
	// A function that hangs between two statements keeps the key for one TTL, not longer.
	hung := make(chan error, 1)
	inside := make(chan struct{})
	go func() {
		hung <- s.FencedFunc(ctx(t), l, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
			close(inside)
			if !pause(ctx, 4*time.Second) {
				return ctx.Err()
			}
			return write(ctx, tx)
		})
	}()
	<-inside
	start := time.Now()
	for {
		g, err := s.Acquire(ctx(t), b, []string{"k"})
		must(t, err)
		if len(g.Leases) == 1 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if d := time.Since(start); d > 3500*time.Millisecond {
		t.Fatalf("the key was free only after %v", d)
	}
	if err := <-hung; err == nil {
		t.Fatal("the hung function committed")
	}
	var n int
	must(t, srv.dial(t).QueryRow(ctx(t), "SELECT count(*) FROM public.written").Scan(&n))
	if n != 1 {
		t.Fatalf("%d rows were written, want the 1 of the function that returned nil", n)
	}
}

// The fence on the side of another database: a token column. It stops a stale writer only once the
// new owner has touched the row, so the new owner bumps the rows that it will guard first.
func TestTokenColumn(t *testing.T) {
	srv := needServer(t)
	c := srv.dial(t)
	_, err := c.Exec(ctx(t), "CREATE TABLE public.resource (id text PRIMARY KEY, body text, fence bigint NOT NULL DEFAULT 0)")
	must(t, err)
	_, err = c.Exec(ctx(t), "INSERT INTO public.resource VALUES ('r', 'first')")
	must(t, err)
	put := func(token int, body string) int64 {
		tag, err := c.Exec(ctx(t), "UPDATE public.resource SET body = $1, fence = $2 WHERE id = 'r' AND fence <= $2", body, token)
		must(t, err)
		return tag.RowsAffected()
	}
	for i, step := range []struct {
		token int
		body  string
		want  int64
	}{
		{7, "by the owner with token 7", 1},
		{7, "stale, but 9 has not touched the row: the gap", 1},
		{9, "bumped by the owner with token 9", 1},
		{7, "stale, and stopped", 0},
		{9, "more by 9", 1},
	} {
		if n := put(step.token, step.body); n != step.want {
			t.Fatalf("step %d, %s: %d rows, want %d", i, fmt.Sprint(step), n, step.want)
		}
	}
}
