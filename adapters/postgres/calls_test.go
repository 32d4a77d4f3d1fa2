package postgresstore

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// trips counts the messages that go to the server: each is one round trip.
type trips struct{ n atomic.Int64 }

func (c *trips) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	return &tripping{conn, c}, err
}

type tripping struct {
	net.Conn
	trips *trips
}

func (c *tripping) Write(b []byte) (int, error) {
	c.trips.n.Add(1)
	return c.Conn.Write(b)
}

// Every steady call is one round trip, the commit and the hint included. The numbers are exact, so that a
// change which makes a call dearer says so here.
func TestOneRoundTripPerCall(t *testing.T) {
	srv := newServer(t, serverConfig{})
	migrated(t, srv, Config{})
	var c trips
	cfg, err := pgxpool.ParseConfig(srv.dsn())
	must(t, err)
	cfg.MaxConns, cfg.ConnConfig.DialFunc = 2, c.dial
	pool, err := pgxpool.NewWithConfig(ctx(t), cfg)
	must(t, err)
	defer pool.Close()
	s, err := New(pool, "trips", Config{})
	must(t, err)
	defer s.Close()
	must(t, s.Provision(ctx(t)))
	sess := begun(t, s, 10*time.Second)
	held := granted(t, s, sess, "held")
	self := registry.Self{Instance: instance.Instance{ID: "a"}}
	v, err := s.Heartbeat(ctx(t), self, 10*time.Second, 0)
	must(t, err)
	var taken lease.Grant
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"renew", func() error { _, err := s.Renew(ctx(t), sess); return err }},
		{"verify", func() error { _, err := s.Verify(ctx(t), sess, held); return err }},
		{"heartbeat", func() error { _, err := s.Heartbeat(ctx(t), self, 10*time.Second, v.Generation); return err }},
		{"put status", func() error {
			return s.PutStatus(ctx(t), "a", 10*time.Second, []status.Record{{Key: "held", State: status.Active, Token: held[0].Token}})
		}},
		{"extend status", func() error { return s.PutStatus(ctx(t), "a", 10*time.Second, nil) }},
		{"acquire a free key", func() (err error) { taken, err = s.Acquire(ctx(t), sess, []string{"again"}); return err }},
		{"release", func() error { return s.Release(ctx(t), sess, taken.Leases) }},
		{"statuses", func() error { _, err := s.Statuses(ctx(t), []string{"held"}); return err }},
	} {
		must(t, call.do()) // the first time a connection is opened, or a row inserted
		if call.name == "acquire a free key" {
			must(t, s.Release(ctx(t), sess, taken.Leases))
		}
		before := c.n.Load()
		must(t, call.do())
		if n := c.n.Load() - before; n != 1 {
			t.Errorf("%s took %d round trips, want 1", call.name, n)
		}
	}
}
