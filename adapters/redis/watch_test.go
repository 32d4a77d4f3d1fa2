package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// watch collects hints until the test ends; the channel of the error yields Watch's end.
func watch(t *testing.T, s *redisstore.Store) (hints chan lease.Change, end chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	hints, end = make(chan lease.Change, 1000), make(chan error, 1)
	go func() { end <- s.Watch(ctx, func(c lease.Change) { hints <- c }) }()
	t.Cleanup(cancel)
	if c := <-hints; c.Kind != lease.ChangeResync {
		t.Fatalf("the first hint is %+v", c)
	}
	return hints, end
}

// Each deed that others can act on is hinted at, with its name where it is about one thing.
func TestHints(t *testing.T) {
	server := redistest.Start(t)
	for name, protocol := range map[string]int{"RESP2": 2, "RESP3": 3} {
		t.Run(name, func(t *testing.T) {
			o := server.Options()
			o.Protocol = protocol
			s, sess := ready(t, server, redistest.Client(t, o), redisstore.Config{Fleet: name})
			g, err := s.Acquire(ctx, sess, []string{"one key", "b", "c", "d"})
			must(t, err)
			self := registry.Self{Instance: instance.Instance{ID: "i 1"}}
			beat := func() error { return second(s.Heartbeat(ctx, self, time.Minute, 0)) }
			hints, end := watch(t, s)
			for _, c := range []struct {
				do   func() error
				want lease.Change
			}{
				{func() error { return s.Release(ctx, sess, g.Leases[2:3]) }, lease.Change{Kind: lease.ChangeReleased, Key: "d"}},
				{func() error { return s.Release(ctx, sess, g.Leases[:2]) }, lease.Change{Kind: lease.ChangeReleased}},
				{func() error { return s.Revoke(ctx, "one key") }, lease.Change{Kind: lease.ChangeRevoked, Key: "one key"}},
				{func() error { return s.CloseSession(ctx, sess) }, lease.Change{Kind: lease.ChangeReleased}},
				{beat, lease.Change{Kind: lease.ChangeJoined, Instance: "i 1"}},
				{func() error { return s.BeginDrain(ctx, "i 1") }, lease.Change{Kind: lease.ChangeDraining, Instance: "i 1"}},
				{func() error { self.Leaving = true; return beat() }, lease.Change{Kind: lease.ChangeLeft, Instance: "i 1"}},
				{func() error { return s.Leave(ctx, "i 1") }, lease.Change{Kind: lease.ChangeLeft, Instance: "i 1"}},
			} {
				must(t, c.do())
				must(t, c.do()) // a second time there is nothing to tell
				if got := <-hints; got != c.want {
					t.Fatalf("hinted %+v, want %+v", got, c.want)
				}
			}
			select {
			case c := <-hints:
				t.Fatalf("hinted %+v", c)
			case err := <-end:
				t.Fatal(err)
			case <-time.After(50 * time.Millisecond):
			}
		})
	}
}

// A lost connection ends Watch with the reason; the caller watches again and is told to look.
// Failure F10.
func TestWatchEndsWithItsConnection(t *testing.T) {
	server := redistest.Start(t)
	s, sess := ready(t, server, nil, redisstore.Config{})
	_, end := watch(t, s)
	server.Admin("CLIENT", "KILL", "TYPE", "pubsub")
	if err := <-end; !errors.Is(err, lease.ErrUnavailable) {
		t.Fatal(err)
	}
	l := take(t, s, sess, "k")
	hints, _ := watch(t, s)
	must(t, s.Release(ctx, sess, []lease.Lease{l}))
	if c := <-hints; c.Kind != lease.ChangeReleased {
		t.Fatalf("hinted %+v", c)
	}
}

// A half-open connection says nothing for ever. The subscription asks, and gives up.
// Failure 65.
func TestWatchNoticesASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := redistest.StartVirtual(t)
		link := &redistest.Link{}
		s, _ := ready(t, nil, redistest.Client(t, link.Through(v.Options())), redisstore.Config{})
		_, end := watch(t, s)
		select {
		case err := <-end:
			t.Fatalf("a quiet fleet ended Watch: %v", err)
		case <-time.After(time.Hour):
		}
		link.Freeze()
		begun := time.Now()
		err := <-end
		if took := time.Since(begun); !errors.Is(err, lease.ErrUnavailable) || took > 11*time.Second {
			t.Fatalf("after %v: %v", took, err)
		}
		link.Thaw()
	})
}

// One that is slow loses hints, is told so, and costs nobody anything.
func TestSlowWatcherIsToldToLook(t *testing.T) {
	server := redistest.Start(t)
	s, sess := ready(t, server, nil, redisstore.Config{})
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	first, block := make(chan struct{}, 1), make(chan struct{})
	var seen []lease.Change
	end := make(chan error, 1)
	go func() {
		end <- s.Watch(watching, func(c lease.Change) {
			seen = append(seen, c)
			if len(seen) == 1 {
				first <- struct{}{}
				<-block
			}
		})
	}()
	<-first
	keys := names(300)
	for _, key := range keys {
		must(t, s.Release(ctx, sess, []lease.Lease{take(t, s, sess, key)}))
	}
	server.Admin("PUBLISH", "{tenure:fleet}:hints", "released the last")
	time.Sleep(100 * time.Millisecond) // for the subscription to read it
	close(block)
	time.Sleep(100 * time.Millisecond)
	cancel()
	if err := <-end; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	resyncs := 0
	for _, c := range seen[1:] {
		if c.Kind == lease.ChangeResync {
			resyncs++
		}
	}
	if resyncs == 0 || len(seen) > 130 || seen[len(seen)-1].Key != "the last" {
		t.Fatalf("%d hints with %d resyncs, the last is %+v", len(seen), resyncs, seen[len(seen)-1])
	}
}
