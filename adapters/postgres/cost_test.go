package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

func (s *server) number(t testing.TB, sql string, args ...any) (n int64) {
	t.Helper()
	c, err := pgx.Connect(ctx(t), s.dsn())
	must(t, err)
	defer c.Close(context.Background())
	must(t, c.QueryRow(ctx(t), sql, args...).Scan(&n))
	return n
}

// walOf is the WAL in bytes that n calls of f write on an otherwise quiet server.
func (s *server) walOf(t testing.TB, n int, f func()) int64 {
	t.Helper()
	s.exec(t, "CHECKPOINT")
	f() // the first change of a page after a checkpoint logs the whole page
	before := s.number(t, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
	for range n {
		f()
	}
	return (s.number(t, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn") - before) / int64(n)
}

// Renewing one lease and renewing ten thousand is the same write.
// Failure 79.
func TestRenewalCostIsFlat(t *testing.T) {
	srv := newServer(t, serverConfig{settings: []string{"autovacuum=off", "bgwriter_lru_maxpages=0", "checkpoint_timeout=1h"}})
	s := migrated(t, srv, Config{MaxTTL: time.Minute})
	one, many := begun(t, s, time.Minute), begun(t, s, time.Minute)
	granted(t, s, one, "single")
	keys := make([]string, 10000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%05d", i)
	}
	granted(t, s, many, keys...)
	const rounds = 300
	var cost [2]int64
	for i, sess := range []lease.Session{one, many} {
		cost[i] = srv.walOf(t, rounds, func() {
			_, err := s.Renew(ctx(t), sess)
			must(t, err)
		})
	}
	t.Logf("WAL of a renewal: %d B with 1 lease, %d B with 10 000", cost[0], cost[1])
	if cost[1]*10 > cost[0]*12 || cost[0]*10 > cost[1]*12 {
		t.Errorf("the WAL of a renewal depends on the number of leases: %d B with 1, %d B with 10 000; want within 20 %%", cost[0], cost[1])
	}
}

// Renewals are HOT updates, also while an old snapshot keeps every dead row.
func TestRenewalsStayHot(t *testing.T) {
	srv := newServer(t, serverConfig{})
	s := migrated(t, srv, Config{})
	sess := lease.NewSession("node-1234:5678:0123456789abcdef0123456789abcdef", 10*time.Second)
	_, err := s.OpenSession(ctx(t), sess)
	must(t, err)
	c, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	rounds, hold := 2000, 6*time.Second
	if long() {
		rounds, hold = 20000, time.Minute
	}
	for range rounds {
		_, err := s.Renew(c, sess)
		must(t, err)
	}
	var updates int64
	until(t, 30*time.Second, "the statistics are in", func() bool {
		_, err := s.Renew(c, sess)
		must(t, err)
		updates = srv.number(t, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE schemaname = 'tenure' AND relname = 'session'")
		return updates >= int64(rounds)
	})
	hot := srv.number(t, "SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = 'tenure' AND relname = 'session'")
	size := srv.number(t, "SELECT pg_table_size('tenure.session')")
	t.Logf("%d renewals: %d updates, %d HOT (%.2f %%), table %d KiB", rounds, updates, hot, 100*float64(hot)/float64(updates), size/1024)
	if updates < int64(rounds) || hot*100 < updates*99 {
		t.Errorf("%d of %d updates were HOT, want at least 99 %%", hot, updates)
	}

	old, err := srv.dial(t).BeginTx(ctx(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	defer old.Rollback(context.Background())
	var n int
	must(t, old.QueryRow(ctx(t), "SELECT count(*) FROM tenure.session").Scan(&n))
	var took []time.Duration
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(hold); time.Now().Before(end); <-tick.C {
		begun := time.Now()
		_, err := s.Renew(c, sess)
		must(t, err)
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	size = srv.number(t, "SELECT pg_table_size('tenure.session')")
	t.Logf("an old snapshot open for %v: %d renewals, p50 %v, p99 %v, table %d KiB", hold, len(took), took[len(took)/2], p99, size/1024)
	if size >= 1<<20 {
		t.Errorf("the session table grew to %d KiB, want under 1 MiB", size/1024)
	}
	if p99 >= sess.TTL/10 {
		t.Errorf("the p99 of a renewal is %v, want under TTL/10 = %v", p99, sess.TTL/10)
	}
}

// With LISTEN, what one lets go another has at once.
func TestHandover(t *testing.T) {
	srv := needServer(t)
	a := migrated(t, srv, Config{})
	b := open(t, srv.dsn(), a.fleet, Config{})
	rounds, most := 30, 250*time.Millisecond
	if long() {
		rounds, most = 200, 25*time.Millisecond
	}
	sa, sb := begun(t, a, 15*time.Second), begun(t, b, 15*time.Second)
	released := make(chan struct{}, 1)
	ready := make(chan struct{}, 1)
	watching, end := context.WithCancel(ctx(t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.Watch(watching, func(c lease.Change) {
			to := released
			if c.Kind == lease.ChangeResync {
				to = ready
			}
			select {
			case to <- struct{}{}:
			default:
			}
		})
	}()
	defer func() { end(); <-ended }()
	<-ready
	var took []time.Duration
	for range rounds {
		l := granted(t, a, sa, "k")
		for len(released) > 0 {
			<-released
		}
		begun := time.Now()
		must(t, a.Release(ctx(t), sa, l))
		select {
		case <-released:
		case <-time.After(10 * time.Second):
			t.Fatal("a release was not hinted")
		}
		next := granted(t, b, sb, "k")
		took = append(took, time.Since(begun))
		must(t, b.Release(ctx(t), sb, next))
		for range 2 {
			_, err := a.Renew(ctx(t), sa)
			must(t, err)
			_, err = b.Renew(ctx(t), sb)
			must(t, err)
		}
	}
	slices.Sort(took)
	median := took[len(took)/2]
	t.Logf("%d handovers: median %v, p95 %v, worst %v", rounds, median, took[len(took)*95/100], took[len(took)-1])
	if median > most {
		t.Errorf("the median handover took %v, want at most %v", median, most)
	}
}

// Renewals, heartbeats and verifications notify nobody.
func TestRenewalsNotifyNobody(t *testing.T) {
	srv := needServer(t)
	s := migrated(t, srv, Config{})
	sess := begun(t, s, 10*time.Second)
	ls := granted(t, s, sess, "k")
	self := registry.Self{Instance: instance.Instance{ID: instance.New()}}
	_, err := s.Heartbeat(ctx(t), self, 10*time.Second, 0)
	must(t, err)
	conn := srv.dial(t)
	_, err = conn.Exec(ctx(t), "LISTEN "+s.channel)
	must(t, err)
	c := ctx(t)
	for range 1000 {
		_, err := s.Renew(c, sess)
		must(t, err)
	}
	for range 100 {
		_, err := s.Heartbeat(c, self, 10*time.Second, 0)
		must(t, err)
		_, err = s.Verify(c, sess, ls)
		must(t, err)
	}
	must(t, s.Release(c, sess, ls)) // the one that must come
	n, err := conn.WaitForNotification(c)
	must(t, err)
	if n.Payload != `{"k":"released","key":"k"}` {
		t.Fatalf("notified of %s before the release", n.Payload)
	}
}

// A call that is cut short, perhaps in the middle of its commit, is found done or not done by the
// next one of the same session, and never twice.
func TestCutShortDuringCommit(t *testing.T) {
	srv := newServer(t, serverConfig{sync: true})
	s := migrated(t, srv, Config{})
	sess := begun(t, s, 15*time.Second)
	peek := srv.dial(t)
	rounds, cut, did := 60, 0, 0
	if long() {
		rounds = 1500
	}
	for i := range rounds {
		key := fmt.Sprintf("key-%d", i)
		short, cancel := context.WithTimeout(ctx(t), 500*time.Microsecond+rand.N(25*time.Millisecond))
		g, err := s.Acquire(short, sess, []string{key})
		cancel()
		if err != nil {
			if !errors.Is(err, lease.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("a call that was cut short answered %v", err)
			}
			cut++
		}
		var stored int64
		_ = peek.QueryRow(ctx(t), "SELECT token FROM tenure.lease WHERE fleet = $1 AND key = $2", s.fleet, key).Scan(&stored)
		if err != nil && stored != 0 {
			did++
		}
		var first lease.Lease
		persistent(t, 10*time.Second, func() error {
			again, err := s.Acquire(ctx(t), sess, []string{key})
			if err == nil && len(again.Leases) == 0 {
				return fmt.Errorf("busy: %w", lease.ErrUnavailable) // the first call is still at it
			}
			if err == nil {
				first = again.Leases[0]
			}
			return err
		})
		if len(g.Leases) == 1 && g.Leases[0] != first {
			t.Fatalf("granted %+v, then %+v", g.Leases[0], first)
		}
		if stored != 0 && uint64(stored) != first.Token {
			t.Fatalf("%q was granted twice: tokens %d and %d", key, stored, first.Token)
		}
		_, err = s.Renew(ctx(t), sess)
		must(t, err)
	}
	t.Logf("%d calls, %d cut short, %d of those had happened", rounds, cut, did)
	if cut == 0 {
		t.Error("no call was cut short: the test proves nothing")
	}
}

// connections counts what a store's processes have open, by the name they gave.
func (s *server) connections(t testing.TB, name string) int64 {
	return s.number(t, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", name)
}

// Failure 75.
func TestNoConnectionIsLeaked(t *testing.T) {
	srv := needServer(t)
	setup := migrated(t, srv, Config{})
	const name = "leak-check"
	dsn := srv.with("application_name=" + name)
	rounds := 60
	if long() {
		rounds = 1000
	}
	var watched atomic.Int64
	for i := range rounds {
		s, err := Open(dsn, setup.fleet, Config{})
		must(t, err)
		sess := begun(t, s, 10*time.Second)
		granted(t, s, sess, fmt.Sprintf("key-%d", i))
		watching, end := context.WithCancel(ctx(t))
		ended := make(chan struct{})
		seen := make(chan struct{}, 8)
		go func() {
			defer close(ended)
			_ = s.Watch(watching, func(lease.Change) { watched.Add(1); seen <- struct{}{} })
		}()
		<-seen
		must(t, s.CloseSession(ctx(t), sess))
		if i%2 == 0 {
			end()
			<-ended
		}
		begun := time.Now()
		must(t, s.Close())
		must(t, s.Close())
		if d := time.Since(begun); d > time.Second {
			t.Errorf("Close took %v", d)
		}
		<-ended
		end()
	}
	until(t, 10*time.Second, "all connections are closed", func() bool { return srv.connections(t, name) == 0 })
}
