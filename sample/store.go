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

func (c storeConfig) postgres() bool { return strings.HasPrefix(c.URL, "postgres") }

// openStore opens the store for a pod, without any I/O, and returns how to close it. The store is
// handed on as it is: wrapped in a type of one's own it would lose its optional powers, such as
// hints, which are found by type assertion.
func openStore(cfg storeConfig, log *slog.Logger) (coordinator.Store, io.Closer, error) {
	if cfg.postgres() {
		return openPostgresStore(cfg, log)
	}
	return openRedisStore(cfg, log)
}

// host is the parent's side of the store: it runs or reaches the server, sets the fleet up, and cleans
// up behind it.
type host struct {
	cfg storeConfig
	// wipe deletes all that the fleet has in the store while it runs, as a lost disk would; nil where that
	// does not happen to such a store.
	wipe   func(context.Context) error
	closer func(context.Context) error
}

// reachTimeout bounds the first contact with a server, and the last.
const reachTimeout = 5 * time.Second

// openHost starts the embedded store, or reaches the given one, and provisions the fleet. To provision is
// a deliberate act of whoever sets up a fleet; it says that there is nothing to remember.
func openHost(text, fleet string, maxTTL time.Duration) (*host, error) {
	cfg := storeConfig{URL: text, Fleet: fleet, MaxTTL: maxTTL, Embedded: text == ""}
	ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
	defer cancel()
	if cfg.postgres() {
		return hostPostgres(ctx, cfg)
	}
	return hostRedis(ctx, cfg)
}

// Close leaves nothing behind in a given server and ends the embedded one.
func (h *host) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
	defer cancel()
	return h.closer(ctx)
}

// unusable says which store, and what may be wrong with it.
func unusable(text string, err error) error {
	shown := ""
	if u, parseErr := url.Parse(text); parseErr == nil {
		shown = " " + u.Redacted()
	}
	return fmt.Errorf("store%s cannot be used: %w; check that the server runs and takes writes, and the URL's user, password and database", shown, err)
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
