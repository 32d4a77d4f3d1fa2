package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
	"github.com/tenure-go/tenure/coordinator"
)

// schema is a run's own place in the database, so that it can be dropped as a whole.
func (c storeConfig) schema() string { return "tenure_" + strings.ReplaceAll(c.Fleet, "-", "_") }

func openPostgresStore(cfg storeConfig, log *slog.Logger) (coordinator.Store, io.Closer, error) {
	s, err := postgresstore.Open(cfg.URL, cfg.Fleet, postgresstore.Config{Schema: cfg.schema(), MaxTTL: cfg.MaxTTL, Logger: log})
	return s, s, err
}

func hostPostgres(ctx context.Context, cfg storeConfig) (*host, error) {
	s, err := postgresstore.Open(cfg.URL, cfg.Fleet, postgresstore.Config{Schema: cfg.schema(), MaxTTL: cfg.MaxTTL})
	if err != nil {
		return nil, unusable(cfg.URL, err)
	}
	if err = s.Migrate(ctx); err == nil {
		err = s.Provision(ctx)
	}
	if err != nil {
		_ = s.Close() // what matters has been said
		return nil, unusable(cfg.URL, err)
	}
	return &host{cfg: cfg, closer: func(ctx context.Context) error { return errors.Join(dropSchema(ctx, cfg), s.Close()) }}, nil
}

func dropSchema(ctx context.Context, cfg storeConfig) error {
	conn, err := pgx.Connect(ctx, cfg.URL)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "DROP SCHEMA "+pgx.Identifier{cfg.schema()}.Sanitize()+" CASCADE")
	return errors.Join(err, conn.Close(ctx))
}
