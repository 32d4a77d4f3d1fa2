package postgresstore

import (
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// A call whose connection broke may be carried out yet. What grants or extends is not sent again by
// the store itself: the first copy would come after the answer, and perhaps after the release.
func TestStoreRepeatsNothingThatGrantsOrExtends(t *testing.T) {
	srv := needServer(t)
	fleet := migrated(t, srv, Config{}).fleet
	u, err := url.Parse(srv.dsn())
	must(t, err)
	p := newProxy(t, u.Host)
	u.Host = p.addr()
	s := open(t, u.String(), fleet, Config{})
	sess := begun(t, s, 10*time.Second)
	self := registry.Self{Instance: instance.Instance{ID: "i"}}
	for name, c := range map[string]struct {
		call  func() error
		known bool
	}{
		"open":      {func() error { _, err := s.OpenSession(ctx(t), sess); return err }, false},
		"renew":     {func() error { _, err := s.Renew(ctx(t), sess); return err }, false},
		"acquire":   {func() error { _, err := s.Acquire(ctx(t), sess, []string{"k"}); return err }, false},
		"heartbeat": {func() error { _, err := s.Heartbeat(ctx(t), self, time.Minute, 0); return err }, true},
	} {
		must(t, c.call()) // now a connection is open
		p.drop.Store(true)
		err := c.call()
		if c.known && err != nil || !c.known && !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("%s, whose reply was lost: %v", name, err)
		}
	}
}
