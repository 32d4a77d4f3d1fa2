package postgresstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// Store is one fleet's handle on a PostgreSQL database. It implements lease.Manager with Lister,
// Revoker, Provisioner and Watcher, registry.Registry and status.Store. It is safe for concurrent
// use; make it with New, Open or NewSQL and Close it when done.
type Store struct {
	fleet string
	cfg   Config
	q     statements

	steady lane // renewals, heartbeats, releases: what must go through
	bulk   lane // everything else
	owned  []*pgxpool.Pool

	// conn is where connections of the store's own lead; nil where that is not known.
	conn    *pgx.ConnConfig
	listen  *pgx.ConnConfig
	channel string

	life    context.Context // ends with Close
	end     context.CancelCauseFunc
	closing sync.Once
	quiet   atomic.Bool  // said already that hints do not work
	tidied  atomic.Int64 // when dead rows were last purged, in nanoseconds since born
	born    time.Time
}

var (
	_ lease.Manager     = (*Store)(nil)
	_ lease.Lister      = (*Store)(nil)
	_ lease.Revoker     = (*Store)(nil)
	_ lease.Provisioner = (*Store)(nil)
	_ lease.Watcher     = (*Store)(nil)
	_ registry.Registry = (*Store)(nil)
	_ status.Store      = (*Store)(nil)
	_ assigner.Targets  = (*Store)(nil)
)

// New makes a store on a pool that the application has. It sends nothing. Unless
// Config.Connections is negative, the store opens connections of its own to the same server on
// first use; it never closes the given pool, nor changes a setting of its connections.
func New(pool *pgxpool.Pool, fleet string, cfg Config) (*Store, error) {
	if pool == nil {
		return nil, invalid("pool", "nil", "must not be nil; pass a *pgxpool.Pool, or use Open with a connection string")
	}
	from := pool.Config()
	return build(fleet, cfg, poolLane{pool}, from)
}

// Open makes a store that has all its connections to itself, from a connection string (URL or
// keyword form, as pgxpool takes it). It dials nothing: a server that is down at start is met by
// the first call. Beside Config.Connections it opens at most two connections (pool_max_conns in
// the string overrides that), which are closed after a minute without use.
func Open(dsn, fleet string, cfg Config) (*Store, error) {
	from, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, &SetupError{Problem: "the connection string cannot be read",
			Remedy: "write it as postgres://user:password@host:5432/database", Err: err}
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		from.MaxConns = defaultConnections
	}
	if !strings.Contains(dsn, "pool_max_conn_idle_time") {
		from.MaxConnIdleTime = time.Minute
	}
	if err := validate(fleet, &cfg); err != nil {
		return nil, err
	}
	boundConnect(from.ConnConfig, cfg.CallTimeout)
	pool, err := pgxpool.NewWithConfig(context.Background(), from)
	if err != nil {
		return nil, &SetupError{Problem: "the pool cannot be made", Remedy: "mend the connection string", Err: err}
	}
	s, err := build(fleet, cfg, poolLane{pool}, from)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.owned = append(s.owned, pool)
	return s, nil
}

// NewSQL makes a store on a *sql.DB that was opened with pgx's stdlib driver. It uses one
// connection of db to learn where it leads, so the server must answer. Otherwise it is as New.
func NewSQL(ctx context.Context, db *sql.DB, fleet string, cfg Config) (*Store, error) {
	if db == nil {
		return nil, invalid("db", "nil", `must not be nil; pass sql.Open("pgx", dsn)`)
	}
	if err := validate(fleet, &cfg); err != nil {
		return nil, err
	}
	conn, err := sqlConnConfig(ctx, db)
	if err != nil {
		s := &Store{cfg: cfg}
		return nil, s.outcome(ctx, "open", err)
	}
	from, err := poolConfig(conn)
	if err != nil {
		return nil, unavailable("open", err)
	}
	return build(fleet, cfg, sqlLane{db}, from)
}

// validate checks what every constructor takes and fills in the defaults.
func validate(fleet string, cfg *Config) (err error) {
	if err := checkFleet(fleet); err != nil {
		return err
	}
	*cfg, err = cfg.resolve()
	return err
}

func build(fleet string, cfg Config, bulk lane, from *pgxpool.Config) (*Store, error) {
	if err := validate(fleet, &cfg); err != nil {
		return nil, err
	}
	s := &Store{
		fleet: fleet, cfg: cfg, q: newStatements(cfg.Schema), bulk: bulk, steady: bulk,
		conn: from.ConnConfig, channel: channelName(cfg.Schema, fleet), born: time.Now(),
	}
	s.tidied.Store(int64(firstPurge - purgeEvery))
	s.listen = s.conn.Copy()
	if cfg.ListenDSN != "" {
		direct, err := pgx.ParseConfig(cfg.ListenDSN)
		if err != nil {
			return nil, invalid("Config.ListenDSN", "of "+fmt.Sprint(len(cfg.ListenDSN))+" bytes", "must be a connection string to the server itself: "+err.Error())
		}
		s.listen = direct
	}
	s.listen.OnNotification = nil // another's handler would get what this connection waits for
	boundConnect(s.listen, defaultCallTimeout)
	if cfg.Connections > 0 {
		own, err := ownPool(from, cfg)
		if err != nil {
			return nil, &SetupError{Problem: "the store's own connections cannot be set up", Remedy: "mend the connection string", Err: err}
		}
		s.steady = poolLane{own}
		s.owned = append(s.owned, own)
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	return s, nil
}

// closePatience is how long Close waits for connections to hang up. A server that does not answer
// cannot make it wait longer; the operating system ends those connections.
const closePatience = 900 * time.Millisecond

// Close ends calls in flight (their outcome is unknown) and closes the connections that the store
// opened, never what it was given. It releases no lease: end the sessions first. It returns within
// a second; later calls return lease.ErrClosed, and a second Close is no error.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.end(lease.ErrClosed)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, p := range s.owned {
				p.Close()
			}
		}()
		select {
		case <-done:
		case <-time.After(closePatience):
		}
	})
	return nil
}
