package redisstore_test

import (
	"errors"
	"testing"
	"time"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/tick"
)

// The client sends a command again by itself when its connection broke. What grants or extends must
// not be: the first copy may come late, after the second was answered and its lease let go.
func TestClientRepeatsNothingThatGrantsOrExtends(t *testing.T) {
	server := redistest.Start(t)
	link := &redistest.Link{}
	o := link.Through(server.Options())
	o.MaxRetries = 3
	s, sess := ready(t, server, redistest.Client(t, o), redisstore.Config{})
	self := registry.Self{Instance: instance.Instance{ID: "i"}}
	for name, c := range map[string]struct {
		call  func() error
		known bool
		sent  int
	}{
		"open":      {func() error { return second(s.OpenSession(ctx, sess)) }, false, 1},
		"renew":     {func() error { return second(s.Renew(ctx, sess)) }, false, 1},
		"acquire":   {func() error { return second(s.Acquire(ctx, sess, []string{"k"})) }, false, 1},
		"heartbeat": {func() error { return second(s.Heartbeat(ctx, self, time.Minute, 0)) }, true, 2},
		// What may be repeated by itself is not where a renewal travels with it.
		"tick": {func() error {
			return trip(s.Tick(ctx, tick.Parts{Renew: &tick.Renew{Session: sess}, Heartbeat: &tick.Heartbeat{Self: self, TTL: time.Minute}}))
		}, false, 1},
	} {
		must(t, c.call()) // sends the source once
		before := link.Scripts()
		link.DropReplies(1)
		err := c.call()
		if n := link.Scripts() - before; n != c.sent {
			t.Errorf("%s: sent %d times, want %d", name, n, c.sent)
		}
		if c.known && err != nil || !c.known && !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
