package postgresstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

func (s *server) deadlocks(t testing.TB) int64 {
	t.Helper()
	time.Sleep(1100 * time.Millisecond) // backends report their statistics once a second
	return s.number(t, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
}

// Many clients acquire, renew, verify, revoke, release, lapse and purge over overlapping keys, in
// every order, with fences open here and there.
func TestNoDeadlocks(t *testing.T) {
	srv := newServer(t, serverConfig{settings: []string{"deadlock_timeout=50ms"}})
	s := migrated(t, srv, Config{MaxTTL: 100 * time.Millisecond, ForgetAfter: 150 * time.Millisecond})
	rounds := int64(500)
	if long() {
		rounds = 10000
	}
	keys := make([]string, 40)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%02d", i)
	}
	var done, grants atomic.Int64
	var failed atomic.Value
	var wg sync.WaitGroup
	for w := range 16 {
		conn := srv.dial(t)
		// Each worker has a handle of its own, as processes do.
		mine := open(t, srv.dsn(), s.fleet, s.cfg)
		wg.Go(func() {
			for done.Add(1) <= rounds && failed.Load() == nil {
				if err := stormRound(ctx(t), mine, conn, keys, w, &grants); err != nil {
					failed.Store(err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		t.Fatal(err)
	}
	if n := srv.deadlocks(t); n != 0 {
		t.Errorf("the server counted %d deadlocks in %d rounds", n, rounds)
	}
	t.Logf("%d rounds, %d grants", rounds, grants.Load())
	if grants.Load() == 0 {
		t.Error("nothing was granted: the storm proves nothing")
	}
}

func stormRound(ctx context.Context, s *Store, conn *pgx.Conn, keys []string, worker int, grants *atomic.Int64) error {
	sess := lease.NewSession(instance.New(), 20*time.Millisecond+rand.N(80*time.Millisecond))
	if _, err := s.OpenSession(ctx, sess); err != nil {
		return unlessLapsed(err)
	}
	wanted := slices.Clone(keys[rand.N(len(keys)):])
	rand.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
	g, err := s.Acquire(ctx, sess, wanted)
	if err != nil {
		return unlessLapsed(err)
	}
	grants.Add(int64(len(g.Leases)))
	rand.Shuffle(len(g.Leases), func(i, j int) { g.Leases[i], g.Leases[j] = g.Leases[j], g.Leases[i] })
	if len(g.Leases) > 0 && worker%4 == 0 {
		if err := s.briefFence(ctx, conn, g.Leases[0]); err != nil {
			return err
		}
	}
	if _, err := s.Renew(ctx, sess); unlessLapsed(err) != nil {
		return err
	}
	if _, err := s.Verify(ctx, sess, g.Leases); unlessLapsed(err) != nil {
		return err
	}
	switch rand.N(6) {
	case 0:
		return s.CloseSession(ctx, sess)
	case 1: // left to lapse
	case 2:
		return s.Revoke(ctx, keys[rand.N(len(keys))])
	case 3:
		s.purge(ctx)
	default:
		return s.Release(ctx, sess, g.Leases[:rand.N(len(g.Leases)+1)])
	}
	return nil
}

func unlessLapsed(err error) error {
	if err == lease.ErrSessionLapsed {
		return nil
	}
	return err
}

func (s *Store) briefFence(ctx context.Context, conn *pgx.Conn, l lease.Lease) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if s.Fence(ctx, tx, l) == nil {
		pause(ctx, rand.N(5*time.Millisecond))
	}
	return nil
}

// A lapse is a row of the session table: a locked lease row cannot hold it up.
func TestLockedLeaseDelaysNoLapse(t *testing.T) {
	srv := needServer(t)
	s := migrated(t, srv, Config{})
	a, b := begun(t, s, 10*time.Second), begun(t, s, 10*time.Second)
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%04d", i)
	}
	granted(t, s, a, keys...)
	tx, err := srv.dial(t).Begin(ctx(t))
	must(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(ctx(t), "SELECT FROM tenure.lease WHERE fleet = $1 AND key = $2 FOR UPDATE", s.fleet, keys[500])
	must(t, err)
	srv.expire(t, a)
	g, err := s.Acquire(ctx(t), b, keys)
	must(t, err)
	if len(g.Leases) != len(keys)-1 || len(g.Refused) != 1 || !g.Refused[0].Busy {
		t.Fatalf("with one row locked %d of %d were granted, refused %+v", len(g.Leases), len(keys), g.Refused)
	}
	var lapsed bool
	must(t, srv.dial(t).QueryRow(ctx(t), "SELECT lapsed_in IS NOT NULL FROM tenure.session WHERE id = $1", a.ID).Scan(&lapsed))
	if !lapsed {
		t.Fatal("the session is not marked as lapsed")
	}
}

func TestPurge(t *testing.T) {
	srv := needServer(t)
	s := migrated(t, srv, Config{MaxTTL: time.Second, ForgetAfter: time.Second})
	count := func() int64 {
		return srv.number(t, `SELECT (SELECT count(*) FROM tenure.session WHERE fleet = $1) + (SELECT count(*) FROM tenure.lease WHERE fleet = $1)
			+ (SELECT count(*) FROM tenure.member WHERE fleet = $1) + (SELECT count(*) FROM tenure.status WHERE fleet = $1)
			+ (SELECT count(*) FROM tenure.status_owner WHERE fleet = $1)`, s.fleet)
	}
	tokens := map[string]uint64{}
	for i := range 5 {
		sess := begun(t, s, time.Second)
		for _, l := range granted(t, s, sess, fmt.Sprintf("a-%d", i), fmt.Sprintf("b-%d", i)) {
			tokens[l.Key] = l.Token
		}
	}
	// A clock that was set back must not let tokens fall once the row is gone.
	srv.exec(t, "UPDATE tenure.lease SET token = token + 3600000000000 WHERE fleet = $1 AND key = 'a-0'", s.fleet)
	tokens["a-0"] += 3600000000000
	srv.exec(t, `INSERT INTO tenure.member (joined_at, expires_at, rev, draining, leaving, fleet, id, description, ttl_us)
		VALUES (now(), now() - interval '2 hours', 1, false, false, $1, 'gone', '{}', 1)`, s.fleet)
	srv.exec(t, `INSERT INTO tenure.status_owner VALUES (now() - interval '3 hours', now() - interval '2 hours', $1, 'gone')`, s.fleet)
	srv.exec(t, `INSERT INTO tenure.status VALUES (1, now(), now() - interval '3 hours', $1, 'k', 'gone', 'active', '', '')`, s.fleet)
	if count() != 5+10+3 {
		t.Fatalf("%d rows", count())
	}
	for end := time.Now().Add(30 * time.Second); count() > 0; time.Sleep(60 * time.Millisecond) {
		s.purge(ctx(t))
		if time.Now().After(end) {
			t.Fatalf("%d rows are left", count())
		}
	}
	again := begun(t, s, time.Second)
	for k, old := range tokens {
		_, _ = s.OpenSession(ctx(t), again)
		g, err := s.Acquire(ctx(t), again, []string{k})
		if err == lease.ErrSessionLapsed {
			again = begun(t, s, time.Second)
			g, err = s.Acquire(ctx(t), again, []string{k})
		}
		must(t, err)
		if len(g.Leases) != 1 || g.Leases[0].Token <= old {
			t.Fatalf("%q came back with %+v; its last token was %d", k, g, old)
		}
	}
}

// A process purges early in its life, and then now and then: where none of them lives for long, nobody else would.
func TestYoungProcessesPurge(t *testing.T) {
	srv := needServer(t)
	s := migrated(t, srv, Config{})
	dead := func() int {
		return int(srv.number(t, "SELECT count(*) FROM tenure.member WHERE fleet = $1 AND id <> 'alive'", s.fleet))
	}
	for i, c := range []struct{ age, want int }{{1, 1}, {int(firstPurge / time.Second), 0}, {int(firstPurge/time.Second) + 1, 1}} {
		srv.exec(t, `INSERT INTO tenure.member (joined_at, expires_at, rev, draining, leaving, fleet, id, description, ttl_us)
			VALUES (now(), now() - interval '2 hours', 1, false, false, $1, $2, '{}', 1) ON CONFLICT DO NOTHING`, s.fleet, fmt.Sprint("gone-", min(i, 1)))
		s.born = time.Now().Add(-time.Duration(c.age) * time.Second)
		_, err := s.Heartbeat(ctx(t), registry.Self{Instance: instance.Instance{ID: "alive"}}, 10*time.Second, 0)
		must(t, err)
		if n := dead(); (n > 0) != (c.want > 0) {
			t.Errorf("%d dead members are left by a process of %d s, want %d", n, c.age, c.want)
		}
	}
}

// What is in use is not purged.
func TestPurgeLeavesTheLivingAlone(t *testing.T) {
	s := migrated(t, needServer(t), Config{ForgetAfter: lease.DefaultMaxTTL})
	a := begun(t, s, 10*time.Second)
	ls := granted(t, s, a, "held", "free")
	must(t, s.Release(ctx(t), a, ls[:1]))
	for range 3 {
		s.purge(ctx(t))
	}
	v, err := s.Verify(ctx(t), a, ls[1:])
	must(t, err)
	if len(v.Lost) > 0 {
		t.Fatalf("%+v", v)
	}
}
