package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

var fleets atomic.Int64

// freshFleet is a fleet name that no other test uses.
func freshFleet() string { return fmt.Sprintf("fleet-%d", fleets.Add(1)) }

// open makes a store on a fresh fleet of the server, provisioned unless told otherwise.
func open(t testing.TB, dsn, fleet string, cfg Config) *Store {
	t.Helper()
	s, err := Open(dsn, fleet, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func migrated(t testing.TB, srv *server, cfg Config) *Store {
	t.Helper()
	s := open(t, srv.dsn(), freshFleet(), cfg)
	must(t, s.Migrate(ctx(t)))
	must(t, s.Provision(ctx(t)))
	return s
}

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func begun(t testing.TB, s *Store, ttl time.Duration) lease.Session {
	t.Helper()
	sess := lease.NewSession(instance.New(), ttl)
	_, err := s.OpenSession(ctx(t), sess)
	must(t, err)
	return sess
}

func granted(t testing.TB, s *Store, sess lease.Session, keys ...string) []lease.Lease {
	t.Helper()
	g, err := s.Acquire(ctx(t), sess, keys)
	must(t, err)
	if len(g.Leases) != len(keys) {
		t.Fatalf("granted %+v, refused %+v; want all of %v", g.Leases, g.Refused, keys)
	}
	return g.Leases
}

// exec runs SQL as an operator would.
func (s *server) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	c, err := pgx.Connect(ctx(t), s.dsn())
	must(t, err)
	defer c.Close(context.Background())
	_, err = c.Exec(ctx(t), sql, args...)
	must(t, err)
}

func TestLeaseLife(t *testing.T) {
	s := migrated(t, needServer(t), Config{})
	must(t, s.Check(ctx(t)))
	a, b := begun(t, s, 500*time.Millisecond), begun(t, s, 10*time.Second)
	first := granted(t, s, a, "k1", "k2")
	again := granted(t, s, a, "k1", "k2")
	if first[0] != again[0] || first[1] != again[1] {
		t.Fatalf("a repeated Acquire answered %+v, want %+v", again, first)
	}
	g, err := s.Acquire(ctx(t), b, []string{"k1", "k3"})
	must(t, err)
	if len(g.Leases) != 1 || len(g.Refused) != 1 || g.Refused[0].Owner != a.Owner || g.Refused[0].RetryAfter > 500*time.Millisecond {
		t.Fatalf("unexpected %+v", g)
	}
	time.Sleep(600 * time.Millisecond)
	if _, err := s.Renew(ctx(t), a); !errors.Is(err, lease.ErrSessionLapsed) {
		t.Fatal(err)
	}
	taken := granted(t, s, b, "k1", "k2")
	if taken[0].Token <= first[0].Token {
		t.Fatal("token fell")
	}
	if _, err := s.Renew(ctx(t), b); err != nil {
		t.Fatal(err)
	}
	v, err := s.Verify(ctx(t), b, append(taken, first...))
	must(t, err)
	if len(v.Lost) != 2 || v.Lost[0].Reason != lease.ReasonTaken && v.Lost[0].Reason != lease.ReasonForgotten {
		t.Fatalf("%+v", v)
	}
	must(t, s.Release(ctx(t), b, taken))
	must(t, s.Revoke(ctx(t), "k3"))
	r, err := s.Renew(ctx(t), b)
	must(t, err)
	if r.Revision != 1 {
		t.Fatal(r)
	}
	held, err := s.Leases(ctx(t))
	must(t, err)
	if len(held) != 1 {
		t.Fatal(held)
	}
	must(t, s.CloseSession(ctx(t), b))
	s.purge(ctx(t))
	v2, err := s.Heartbeat(ctx(t), registry.Self{Instance: instance.Instance{ID: instance.New()}}, time.Second, 0)
	must(t, err)
	if len(v2.Members) != 1 || v2.Self.ID == "" {
		t.Fatalf("%+v", v2)
	}
	v3, err := s.Heartbeat(ctx(t), registry.Self{Instance: v2.Self.Instance}, time.Second, v2.Generation)
	must(t, err)
	if !v3.Unchanged || v3.Self.JoinedAt != v2.Self.JoinedAt {
		t.Fatalf("%+v", v3)
	}
	must(t, s.PutStatus(ctx(t), "me", time.Second, []status.Record{{Key: "k", State: status.Active, Token: 5}}))
	rs, err := s.AllStatuses(ctx(t))
	must(t, err)
	if len(rs) != 1 {
		t.Fatal(rs)
	}
}
