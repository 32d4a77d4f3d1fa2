package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/coordinator"
)

func openRedisStore(cfg storeConfig, log *slog.Logger) (coordinator.Store, io.Closer, error) {
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
		return nil, err
	}
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(o), nil
}

func hostRedis(ctx context.Context, cfg storeConfig) (*host, error) {
	var server *miniredis.Miniredis
	if cfg.Embedded {
		server = miniredis.NewMiniRedis()
		if err := server.StartAddr("127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("embedded store: %w", err)
		}
		cfg.URL = "redis://" + server.Addr()
	}
	client, err := openRedis(cfg.URL)
	if err != nil {
		return nil, unusable(cfg.URL, err)
	}
	s, err := redisstore.New(client, redisstore.Config{Fleet: cfg.Fleet, MaxTTL: cfg.MaxTTL})
	if err == nil {
		err = s.Provision(ctx)
	}
	if err != nil {
		_ = client.Close() // what matters has been said
		return nil, unusable(cfg.URL, err)
	}
	if cfg.Embedded {
		return &host{
			cfg:    cfg,
			wipe:   func(context.Context) error { server.FlushAll(); return nil },
			closer: func(context.Context) error { defer server.Close(); return client.Close() },
		}, nil
	}
	// In a server that others use as well it is this fleet's keys that are lost, and nothing else.
	wipe := func(ctx context.Context) error {
		return deleteKeys(ctx, client, "{"+redisstore.DefaultPrefix+":"+cfg.Fleet+"}:*")
	}
	return &host{
		cfg: cfg, wipe: wipe,
		closer: func(ctx context.Context) error { return errors.Join(wipe(ctx), client.Close()) },
	}, nil
}

func deleteKeys(ctx context.Context, client *redis.Client, pattern string) error {
	var keys []string
	found := client.Scan(ctx, 0, pattern, 1000).Iterator()
	for found.Next(ctx) {
		keys = append(keys, found.Val())
	}
	if err := found.Err(); err != nil || len(keys) == 0 {
		return err
	}
	return client.Del(ctx, keys...).Err()
}
