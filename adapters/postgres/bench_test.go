package postgresstore

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// BenchmarkCommit is the floor: one small synchronous commit on the same server.
func BenchmarkCommit(b *testing.B) {
	srv := newServer(b, serverConfig{sync: true})
	c, err := pgx.Connect(ctx(b), srv.dsn())
	must(b, err)
	defer c.Close(ctx(b))
	for b.Loop() {
		_, err := c.Exec(ctx(b), "SELECT pg_logical_emit_message(true, 'x', 'y')")
		must(b, err)
	}
}

func BenchmarkRenew(b *testing.B) {
	s := migrated(b, newServer(b, serverConfig{sync: true}), Config{})
	sess := begun(b, s, 10*time.Second)
	granted(b, s, sess, "k")
	c := ctx(b)
	for b.Loop() {
		_, err := s.Renew(c, sess)
		must(b, err)
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	s := migrated(b, newServer(b, serverConfig{sync: true}), Config{})
	sess := begun(b, s, 15*time.Second)
	c := ctx(b)
	for b.Loop() {
		_, err := s.Renew(c, sess)
		must(b, err)
		g, err := s.Acquire(c, sess, []string{"k"})
		must(b, err)
		must(b, s.Release(c, sess, g.Leases))
	}
}
