package postgresstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// The tests of this file are about failures that others had: docs/failures.md.

// A session that ends later than its TTL from now was written before the server's clock was set back, or by hand. Its
// holder may be alive, and so has that long; a dead one keeps its keys for no longer.
// Failure 41.
func TestAnExpiryTooFarAwayIsBroughtForward(t *testing.T) {
	srv := needServer(t)
	const ttl = 3 * time.Second
	s := migrated(t, srv, Config{MaxTTL: 2 * ttl})
	alive, dead, rival := begun(t, s, ttl), begun(t, s, ttl), begun(t, s, 2*ttl)
	kept, left := granted(t, s, alive, "kept")[0], granted(t, s, dead, "left")[0]
	set := time.Now()
	srv.exec(t, "UPDATE tenure.session SET expires_at = expires_at + interval '10 years' WHERE id = ANY($1)", []string{alive.ID, dead.ID})
	for {
		sent := time.Now()
		g, err := s.Acquire(ctx(t), rival, []string{"kept", "left"})
		must(t, err)
		for _, r := range g.Refused {
			if r.RetryAfter > ttl {
				t.Fatalf("refused for %v: %+v", r.RetryAfter, r)
			}
		}
		if len(g.Leases) > 0 {
			if l := g.Leases[0]; len(g.Leases) > 1 || l.Key != "left" || l.Token <= left.Token || time.Since(set) < ttl {
				t.Fatalf("granted after %v: %+v", time.Since(set), g.Leases)
			}
			break
		}
		if sent.Sub(set) > 3*ttl {
			t.Fatalf("a dead holder keeps its key %v later", sent.Sub(set))
		}
		for _, sess := range []lease.Session{alive, rival} {
			_, err := s.Renew(ctx(t), sess)
			must(t, err)
		}
		time.Sleep(ttl / 20)
	}
	v, err := s.Verify(ctx(t), alive, []lease.Lease{kept})
	must(t, err)
	if len(v.Lost) > 0 {
		t.Errorf("the living holder lost %+v", v.Lost)
	}
}

// Failure 7.
func TestTimeZonesOfClientsDoNotMatter(t *testing.T) {
	srv := needServer(t)
	const ttl = 3 * time.Second
	setup := migrated(t, srv, Config{})
	tokyo := open(t, srv.with("timezone=Asia/Tokyo"), setup.fleet, Config{})
	honolulu := open(t, srv.with("timezone=Pacific/Honolulu"), setup.fleet, Config{})
	for _, pair := range [][2]*Store{{tokyo, honolulu}, {honolulu, tokyo}} {
		began := time.Now()
		old := granted(t, pair[0], begun(t, pair[0], ttl), "k")[0]
		rival := begun(t, pair[1], 10*time.Second)
		g, err := pair[1].Acquire(ctx(t), rival, []string{"k"})
		must(t, err)
		if len(g.Refused) != 1 || g.Refused[0].RetryAfter > ttl {
			t.Fatalf("a held key: %+v", g)
		}
		time.Sleep(g.Refused[0].RetryAfter + 10*time.Millisecond)
		l := granted(t, pair[1], rival, "k")[0]
		if off := time.Since(l.GrantedAt); l.Token <= old.Token || off.Abs() > time.Minute || time.Since(began) < ttl {
			t.Errorf("%+v after %+v", l, old)
		}
		must(t, pair[1].Release(ctx(t), rival, []lease.Lease{l}))
	}
}

// A connection to a server that takes no writes any more is not used again: the next one may lead to another.
// Failure 55.
func TestADemotedServerIsLeft(t *testing.T) {
	srv := newServer(t, serverConfig{})
	setup := migrated(t, srv, Config{})
	const name = "demoted"
	s := open(t, srv.with("application_name="+name), setup.fleet, Config{})
	sess := begun(t, s, 10*time.Second)
	l := granted(t, s, sess, "k")[0]
	for _, readOnly := range []string{"on", "off"} {
		srv.exec(t, "ALTER SYSTEM SET default_transaction_read_only = "+readOnly)
		srv.exec(t, "SELECT pg_reload_conf()")
		until(t, 10*time.Second, "renewals notice", func() bool {
			_, err := s.Renew(ctx(t), sess)
			return errors.Is(err, lease.ErrReadOnlyStore) == (readOnly == "on")
		})
		if readOnly == "off" {
			break
		}
		if _, err := s.Acquire(ctx(t), sess, []string{"k2"}); !errors.Is(err, lease.ErrReadOnlyStore) {
			t.Errorf("Acquire: %v", err)
		}
		until(t, 10*time.Second, "no connection is kept", func() bool { return srv.connections(t, name) == 0 })
	}
	v, err := s.Verify(ctx(t), sess, []lease.Lease{l})
	must(t, err)
	if len(v.Lost) > 0 {
		t.Errorf("lost %+v", v.Lost)
	}
}

// Failure 55.
func TestCheckFindsAnUnloggedTable(t *testing.T) {
	srv := needServer(t)
	s := open(t, srv.dsn(), freshFleet(), Config{Schema: "volatile"})
	must(t, s.Migrate(ctx(t)))
	must(t, s.Check(ctx(t)))
	c := srv.dial(t)
	defer c.Close(context.Background())
	for _, table := range []string{"fleet", "lease"} { // session cannot be, while the lease table that refers to it is logged
		_, err := c.Exec(ctx(t), "ALTER TABLE volatile."+table+" SET UNLOGGED")
		must(t, err)
		wantSetup(t, s.Check(ctx(t)), "SET LOGGED")
		_, err = c.Exec(ctx(t), "ALTER TABLE volatile."+table+" SET LOGGED")
		must(t, err)
	}
	must(t, s.Check(ctx(t)))
}
