package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/coordinator"
)

// storeConfig says where a fleet keeps its state.
type storeConfig struct {
	URL   string
	Fleet string
	// MaxTTL is how long grants are frozen after the store has lost data.
	MaxTTL time.Duration
	// Embedded says that the parent runs the server.
	Embedded bool
}

// openStore opens the store for a pod, without any I/O, and returns how to close it. The store is
// handed on as it is: wrapped in a type of one's own it would lose its optional powers, such as
// hints, which are found by type assertion.
func openStore(cfg storeConfig, log *slog.Logger) (coordinator.Store, io.Closer, error) {
	if cfg.Embedded {
		log = nil // it warns of what the embedded server lacks, and the viewer cannot change that
	}
	client, err := openRedis(cfg.URL)
	if err != nil {
		return nil, nil, err
	}
	s, err := redisstore.New(client, redisstore.Config{Fleet: cfg.Fleet, MaxTTL: cfg.MaxTTL, Logger: log})
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return s, closers{s, client}, nil
}

// openRedis makes a client for coordination alone: calls end with their contexts and are repeated by
// the engines, which know how much of the lease is left, rather than by the client.
func openRedis(text string) (*redis.Client, error) {
	o, err := redis.ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("store URL: %w", err)
	}
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(o), nil
}

type closers []io.Closer

// Close closes all.
func (c closers) Close() error {
	var errs []error
	for _, x := range c {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}

// host is the parent's side of the store: it runs or reaches the server, provisions the fleet, and
// cleans up behind it.
type host struct {
	cfg    storeConfig
	client *redis.Client
	server *miniredis.Miniredis // nil: given by its URL
}

// reachTimeout bounds the first contact with a given server.
const reachTimeout = 5 * time.Second

// openHost starts the embedded store or reaches the given one, and provisions the fleet. To provision is a
// deliberate act of whoever sets up a fleet; it says that there is nothing to remember.
func openHost(ctx context.Context, text, fleet string, maxTTL time.Duration) (*host, error) {
	h := &host{cfg: storeConfig{URL: text, Fleet: fleet, MaxTTL: maxTTL}}
	if text == "" {
		h.server = miniredis.NewMiniRedis()
		if err := h.server.StartAddr("127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("embedded store: %w", err)
		}
		h.cfg.URL, h.cfg.Embedded = "redis://"+h.server.Addr(), true
	}
	var err error
	if h.client, err = openRedis(h.cfg.URL); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	s, err := redisstore.New(h.client, redisstore.Config{Fleet: fleet, MaxTTL: maxTTL})
	if err == nil {
		err = s.Provision(ctx)
	}
	if err != nil {
		_ = h.client.Close()
		return nil, fmt.Errorf("store %s cannot be used: %w", redacted(h.cfg.URL), err)
	}
	return h, nil
}

// Wipe deletes all that the fleet has in the store, as a lost disk would, while it runs. In a given server
// it touches nothing of anybody else.
func (h *host) Wipe(ctx context.Context) error {
	if h.server != nil {
		h.server.FlushAll()
		return nil
	}
	var keys []string
	found := h.client.Scan(ctx, 0, "{tenure:"+h.cfg.Fleet+"}:*", 1000).Iterator()
	for found.Next(ctx) {
		keys = append(keys, found.Val())
	}
	if err := found.Err(); err != nil || len(keys) == 0 {
		return err
	}
	return h.client.Del(ctx, keys...).Err()
}

// Close leaves nothing behind in a given server and ends the embedded one.
func (h *host) Close() error {
	if h.server != nil {
		defer h.server.Close()
	}
	if h.client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
	defer cancel()
	return errors.Join(h.Wipe(ctx), h.client.Close())
}

func redacted(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return strings.SplitN(text, "@", 2)[0]
}
