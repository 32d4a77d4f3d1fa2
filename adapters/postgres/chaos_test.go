package postgresstore

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// An application that uses up its whole pool loses no term: renewals have connections of their own.
// Failure 67.
func TestExhaustedPoolLosesNoTerm(t *testing.T) {
	srv := needServer(t)
	cfg, err := pgxpool.ParseConfig(srv.dsn())
	must(t, err)
	cfg.MaxConns = 3
	pool, err := pgxpool.NewWithConfig(ctx(t), cfg)
	must(t, err)
	defer pool.Close()
	s, err := New(pool, freshFleet(), Config{})
	must(t, err)
	defer s.Close()
	must(t, s.Migrate(ctx(t)))
	must(t, s.Provision(ctx(t)))
	const ttl = 3 * time.Second
	w := newWitness(t)
	stop := w.keep(s, ttl, names(20)...)
	until(t, 20*time.Second, "all keys are held", func() bool { _, _, held := w.numbers(); return held == 20 })
	for range cfg.MaxConns {
		c, err := pool.Acquire(ctx(t))
		must(t, err)
		defer c.Release()
	}
	time.Sleep(3 * ttl)
	if won, lost, held := w.numbers(); lost != 0 || held != 20 {
		t.Fatalf("with the pool exhausted for %v: %d granted, %d lost, %d held", 3*ttl, won, lost, held)
	}
	stop()
}

// Backends that die at random cost retries, and no term.
// Failure 53.
func TestTerminatedBackends(t *testing.T) {
	srv := newServer(t, serverConfig{})
	d := 4 * time.Second
	if long() {
		d = 10 * time.Second
	}
	first := migrated(t, srv, Config{})
	second := open(t, srv.dsn(), first.fleet, Config{})
	w := newWitness(t)
	watching, end := context.WithCancel(ctx(t))
	defer end()
	go w.watch(watching)
	keys := names(20)
	stops := []func(){w.keep(first, 3*time.Second, keys...), w.keep(second, 3*time.Second, keys...)}
	until(t, 20*time.Second, "all keys are held", func() bool { _, _, held := w.numbers(); return held == len(keys) })
	killer := srv.dial(t)
	kills := 0
	for until := time.Now().Add(d); time.Now().Before(until); {
		var n int
		must(t, killer.QueryRow(ctx(t), `SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 2) x`).Scan(&n))
		kills += n
		time.Sleep(rand.N(100 * time.Millisecond))
	}
	won, lost, held := w.numbers()
	t.Logf("%d backends terminated in %v: %d granted, %d lost, %d held", kills, d, won, lost, held)
	if lost != 0 || held != len(keys) {
		t.Errorf("terms were lost")
	}
	for _, stop := range stops {
		stop()
	}
}

// A server that is restarted, or dies, has everything again, nobody has two owners, and work goes on by itself.
// Failure 53.
func TestRestarts(t *testing.T) {
	srv := newServer(t, serverConfig{})
	for name, sig := range map[string]syscall.Signal{"fast": syscall.SIGINT, "immediate": syscall.SIGQUIT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{MaxTTL: 4 * time.Second}
			first := migrated(t, srv, cfg)
			second := open(t, srv.dsn(), first.fleet, cfg)
			w := newWitness(t)
			watching, end := context.WithCancel(ctx(t))
			defer end()
			go w.watch(watching)
			keys := names(10)
			stops := []func(){w.keep(first, 4*time.Second, keys...), w.keep(second, 4*time.Second, keys...)}
			until(t, 20*time.Second, "all keys are held", func() bool { _, _, held := w.numbers(); return held == len(keys) })
			self := registry.Self{Instance: instance.Instance{ID: instance.New()}}
			v, err := first.Heartbeat(ctx(t), self, time.Minute, 0)
			must(t, err)
			must(t, first.PutStatus(ctx(t), self.Instance.ID, time.Minute, []status.Record{{Key: "k", State: status.Active, Token: 1}}))
			before, err := first.Leases(ctx(t))
			must(t, err)

			srv.stop(sig)
			must(t, srv.start())

			// The rows are there; the leases count again once they were verified.
			var rows int
			must(t, srv.dial(t).QueryRow(ctx(t), "SELECT count(*) FROM tenure.lease WHERE fleet = $1 AND session IS NOT NULL", first.fleet).Scan(&rows))
			if rows != len(keys) {
				t.Errorf("%d leases survived, want %d", rows, len(keys))
			}
			persistent(t, 20*time.Second, func() error { _, err := first.Members(ctx(t)); return err })
			m, err := first.Members(ctx(t))
			must(t, err)
			if len(m.Members) != 1 || !m.Members[0].JoinedAt.Equal(v.Self.JoinedAt) {
				t.Errorf("the membership after the restart: %+v", m)
			}
			rs, err := first.Statuses(ctx(t), []string{"k"})
			must(t, err)
			if len(rs) != 1 {
				t.Errorf("the statuses after the restart: %+v", rs)
			}
			until(t, 40*time.Second, "all keys are held again", func() bool { _, _, held := w.numbers(); return held == len(keys) })
			after, err := first.Leases(ctx(t))
			must(t, err)
			won, lost, _ := w.numbers()
			t.Logf("%s: %d leases before, %d after, %d granted, %d lost", name, len(before), len(after), won, lost)
			for _, stop := range stops {
				stop()
			}
			// And the fleet grants again after the freeze.
			until(t, 20*time.Second, "new grants", func() bool {
				sess := lease.NewSession(instance.New(), time.Second)
				if _, err := second.OpenSession(ctx(t), sess); err != nil {
					return false
				}
				g, err := second.Acquire(ctx(t), sess, []string{"fresh"})
				return err == nil && len(g.Leases) == 1
			})
		})
	}
}
