package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/lease"
)

// silence is how long the subscription may be without any word from the server before it is asked for one,
// and then again before the connection counts as dead: a half-open connection never says a thing.
const silence = 5 * time.Second

// backlog is how many hints wait for a slow watcher before they become one ChangeResync.
const backlog = 64

// Watch implements lease.Watcher on a connection of its own. It needs the right to the fleet's channel;
// without it no hint ever comes, and everything else works.
func (s *Store) Watch(ctx context.Context, f func(lease.Change)) error {
	if f == nil {
		return invalid("Watch function", "nil", "must not be nil; it receives the hints")
	}
	if s.closing.Err() != nil {
		return fmt.Errorf("redisstore: watch: %w", lease.ErrClosed)
	}
	if ctx.Err() != nil {
		return ended(ctx, "watch")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sub := s.client.Subscribe(ctx) // of nothing yet, so it does no I/O
	events, failed := make(chan lease.Change, backlog), make(chan error, 1)
	// The client ignores the context while it waits, so it waits beside; closing the subscription
	// wakes it up.
	go func() { failed <- s.listen(ctx, sub, events) }()
	defer func() { go sub.Close() }() // which waits for a dial under way
	for {
		select {
		case c := <-events:
			f(c)
		case err := <-failed:
			if ctx.Err() == nil {
				s.look(err)
				return mapped("watch", err)
			}
			return ended(ctx, "watch")
		case <-ctx.Done():
			return ended(ctx, "watch")
		case <-s.closing.Done():
			return fmt.Errorf("redisstore: watch: %w", lease.ErrClosed)
		}
	}
}

// listen turns what the subscription says into changes until it fails.
func (s *Store) listen(ctx context.Context, sub *redis.PubSub, events chan lease.Change) error {
	if err := sub.Subscribe(ctx, s.keys.channel); err != nil {
		return err
	}
	for quiet := false; ; {
		message, err := sub.ReceiveTimeout(ctx, silence)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && !quiet {
			quiet = true
			err = sub.Ping(ctx)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		quiet = false
		var change lease.Change
		switch m := message.(type) {
		case *redis.Subscription:
			change = lease.Change{Kind: lease.ChangeResync}
		case *redis.Message:
			change = parseHint(m.Payload)
		default:
			continue // a pong
		}
		offer(events, change)
	}
}

// offer hands a change on without waiting, so that the server never has to buffer for a slow watcher:
// one that cannot keep up loses its backlog and is told to look for itself.
func offer(events chan lease.Change, c lease.Change) {
	select {
	case events <- c:
		return
	default:
	}
	for len(events) > 0 {
		select {
		case <-events:
		default: // the watcher was faster
		}
	}
	events <- lease.Change{Kind: lease.ChangeResync} // nobody else sends
}

// parseHint reads "<kind> <name>"; see lua/hint.lua. What cannot be read says at least that
// something has happened.
func parseHint(text string) lease.Change {
	kind, name, _ := strings.Cut(text, " ")
	switch k := lease.ChangeKind(kind); k {
	case lease.ChangeReleased, lease.ChangeRevoked:
		return lease.Change{Kind: k, Key: name}
	case lease.ChangeJoined, lease.ChangeLeft, lease.ChangeDraining:
		return lease.Change{Kind: k, Instance: name}
	case lease.ChangePlanned:
		return lease.Change{Kind: k}
	}
	return lease.Change{Kind: lease.ChangeResync}
}
