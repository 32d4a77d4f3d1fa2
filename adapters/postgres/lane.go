package postgresstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// lane hands out connections. A connection that f left closed, busy or inside a transaction does
// not go back to the others.
type lane interface {
	do(ctx context.Context, f func(*pgx.Conn) error) error
}

type poolLane struct{ pool *pgxpool.Pool }

func (l poolLane) do(ctx context.Context, f func(*pgx.Conn) error) error {
	c, err := l.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release() // destroys what is not idle
	return f(c.Conn())
}

type sqlLane struct{ db *sql.DB }

func (l sqlLane) do(ctx context.Context, f func(*pgx.Conn) error) error {
	c, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var failed error
	err = c.Raw(func(dc any) error {
		std, ok := dc.(*stdlib.Conn)
		if !ok {
			failed = invalid("database/sql driver", fmt.Sprintf("%T", dc), `must be pgx: sql.Open("pgx", dsn) with github.com/jackc/pgx/v5/stdlib`)
			return nil
		}
		failed = f(std.Conn())
		if std.Conn().IsClosed() || std.Conn().PgConn().TxStatus() != 'I' {
			return driver.ErrBadConn
		}
		return nil
	})
	if failed != nil {
		return failed
	}
	if errors.Is(err, driver.ErrBadConn) {
		return nil // f succeeded; only its connection is not to be used again
	}
	return err
}

// ownPool opens a pool that nobody but this store uses, to where the given configuration leads.
// It dials nothing before its first use.
func ownPool(from *pgxpool.Config, c Config) (*pgxpool.Pool, error) {
	cfg := from.Copy()
	cfg.MaxConns, cfg.MinConns, cfg.MinIdleConns = int32(c.Connections), 0, 0
	boundConnect(cfg.ConnConfig, c.CallTimeout)
	return pgxpool.NewWithConfig(context.Background(), cfg)
}

// boundConnect keeps one dial that hangs from outliving several calls, and lets it take as long as a call may.
func boundConnect(cfg *pgx.ConnConfig, call time.Duration) {
	limit := max(call, defaultCallTimeout)
	if cfg.ConnectTimeout == 0 || cfg.ConnectTimeout > limit {
		cfg.ConnectTimeout = limit
	}
}

// sqlConnConfig learns from one connection of db where db leads.
func sqlConnConfig(ctx context.Context, db *sql.DB) (cfg *pgx.ConnConfig, err error) {
	err = sqlLane{db}.do(ctx, func(c *pgx.Conn) error {
		cfg = c.Config()
		cfg.OnNotification = nil // of that one connection
		return nil
	})
	return cfg, err
}

// poolConfig makes a pool's configuration from a connection's.
func poolConfig(conn *pgx.ConnConfig) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig("") // a pool accepts no configuration that it did not parse
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig = conn.Copy()
	return cfg, nil
}
