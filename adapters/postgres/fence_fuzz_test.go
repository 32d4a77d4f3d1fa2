package postgresstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// fuzz lets workers win, lose and overrun one key's lease while they write to a row with their
// tokens, and counts the writes that came after one with a higher token.
func fuzz(t *testing.T, srv *server, level pgx.TxIsoLevel, fence bool, d time.Duration) (writes, stale int64) {
	t.Helper()
	s := migrated(t, srv, Config{})
	row := s.fleet
	srv.exec(t, "CREATE TABLE IF NOT EXISTS public.guarded (id text PRIMARY KEY, token bigint, writes bigint, stale bigint)")
	srv.exec(t, "INSERT INTO public.guarded VALUES ($1, 0, 0, 0)", row)
	const ttl = 30 * time.Millisecond
	end := time.Now().Add(d)
	var committed atomic.Int64
	goOn := func() bool { // on a machine that is too busy for leases so short, until some writes were made
		now := time.Now()
		return now.Before(end) || committed.Load() < 5 && now.Before(end.Add(20*time.Second))
	}
	var wg sync.WaitGroup
	var broken atomic.Value
	for range 8 {
		conn := srv.dial(t)
		wg.Go(func() {
			for goOn() {
				sess := lease.NewSession(instance.New(), ttl)
				if _, err := s.OpenSession(ctx(t), sess); err != nil {
					continue
				}
				g, err := s.Acquire(ctx(t), sess, []string{"k"})
				if err != nil || len(g.Leases) == 0 {
					time.Sleep(rand.N(10 * time.Millisecond))
					continue
				}
				for range 3 { // the last ones mostly come too late
					err := write(ctx(t), s, conn, level, fence, g.Leases[0], row)
					if err == nil {
						committed.Add(1)
					}
					if errors.Is(err, ErrFenced) {
						break
					}
					var pg *pgconn.PgError
					if err != nil && (!errors.As(err, &pg) || pg.Code != "40001") {
						broken.Store(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if err := broken.Load(); err != nil {
		t.Fatal(err)
	}
	must(t, srv.dial(t).QueryRow(ctx(t), "SELECT writes, stale FROM public.guarded WHERE id = $1", row).Scan(&writes, &stale))
	return writes, stale
}

// write is one transaction of a worker that does not look at the time.
func write(ctx context.Context, s *Store, conn *pgx.Conn, level pgx.TxIsoLevel, fence bool, l lease.Lease, row string) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if fence {
		if err := s.Fence(ctx, tx, l); err != nil {
			return err
		}
	}
	time.Sleep(rand.N(25 * time.Millisecond))
	if _, err := tx.Exec(ctx, `UPDATE public.guarded SET writes = writes + 1, stale = stale + (token > $2)::int, token = greatest(token, $2)
		WHERE id = $1`, row, int64(l.Token)); err != nil {
		return err
	}
	time.Sleep(rand.N(5 * time.Millisecond))
	return tx.Commit(ctx)
}

func TestFencingFuzz(t *testing.T) {
	srv := needServer(t)
	d := 1500 * time.Millisecond
	if long() {
		d = 4 * time.Second
	}
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			writes, stale := fuzz(t, srv, level, true, d)
			t.Logf("fenced: %d writes, %d stale", writes, stale)
			if stale != 0 || writes == 0 {
				t.Errorf("with a fence %d of %d writes were stale; want 0 of some", stale, writes)
			}
		})
	}
	t.Run("unfenced", func(t *testing.T) {
		writes, stale := int64(0), int64(0)
		for range 5 { // the control shows that the fuzz can fail
			w, st := fuzz(t, srv, pgx.ReadCommitted, false, d)
			if writes, stale = writes+w, stale+st; stale > 0 {
				break
			}
		}
		t.Logf("unfenced: %d writes, %d stale", writes, stale)
		if stale == 0 {
			t.Errorf("without a fence none of %d writes was stale: the fuzz proves nothing", writes)
		}
	})
}
