package scenario

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/bench/internal/servers"
	"github.com/tenure-go/tenure/coordinator"
)

// Scenario is one measurement.
type Scenario struct {
	Name, Title string
	// Long is left out of -quick.
	Long bool
	Run  func(ctx context.Context, e *Env, r *lab.Report) error
}

// All are the scenarios, in the order in which they run.
func All() []Scenario {
	return []Scenario{
		{"renew-redis", "renewing 10 000 leases, Redis", false, renewRedis},
		{"renew-postgres", "renewing 10 000 leases, PostgreSQL", false, renewPostgres},
		{"tick-redis", "one interval of an instance, by how much it holds, Redis", false, tickRedis},
		{"tick-postgres", "one interval of an instance, by how much it holds, PostgreSQL", true, tickPostgres},
		{"acquire-redis", "acquire and release of one lease, Redis", false, acquireRedis},
		{"acquire-postgres", "acquire and release of one lease, PostgreSQL", false, acquirePostgres},
		{"start-redis", "acquiring 10 000 free leases at start, Redis", false, startRedis},
		{"start-postgres", "acquiring 10 000 free leases at start, PostgreSQL", true, startPostgres},
		{"handover-redis", "graceful handover of one workload, Redis", false, handoverRedis},
		{"handover-postgres", "graceful handover of one workload, PostgreSQL", false, handoverPostgres},
		{"drain-redis", "draining an instance of 1 000 idle workloads to 9 others, Redis", false, drainRedis},
		{"drain-postgres", "draining an instance of 1 000 idle workloads to 9 others, PostgreSQL", true, drainPostgres},
		{"failover", "crash failover", false, failover},
		{"idle", "10 000 held workloads in one process", false, idle},
		{"waiters", "100 candidates for one singleton", false, waiting},
		{"fleet", "a fleet of 200 instances and 50 000 workloads on one Redis", true, fleet},
	}
}

// Env is what the scenarios share: the servers, started when they are first needed.
type Env struct {
	lab.Lab
	// Quick makes everything smaller.
	Quick bool
	// Tiny makes it as small as it can be: it only shows that everything runs.
	Tiny bool
	// Build builds the program that has the peers with large dependencies, when it is first needed, and returns
	// its path. Nil leaves them out.
	Build func() (string, error)
	// Missing says why they are missing.
	Missing string
	// Self is the path of this program, which some scenarios start again as processes of a fleet.
	Self string

	peers    string
	redis    *servers.Redis
	postgres *servers.Postgres
	fleets   atomic.Int64
}

// New returns an environment. Close it.
func New(log io.Writer, rounds int) *Env {
	return &Env{Lab: lab.Lab{Rounds: rounds, Log: log}}
}

// Close ends the servers.
func (e *Env) Close() {
	if e.redis != nil {
		e.redis.Stop()
	}
	if e.postgres != nil {
		e.postgres.Stop()
	}
}

// size picks a size: full, for -quick, or for a look whether it runs.
func (e *Env) size(full, quick, tiny int) int {
	switch {
	case e.Tiny:
		return tiny
	case e.Quick:
		return quick
	}
	return full
}

// Redis returns the server.
func (e *Env) Redis() (*servers.Redis, error) {
	if e.redis == nil {
		var err error
		if e.redis, err = servers.StartRedis(); err != nil {
			return nil, err
		}
	}
	return e.redis, nil
}

// Postgres returns the server.
func (e *Env) Postgres() (*servers.Postgres, error) {
	if e.postgres == nil {
		var err error
		if e.postgres, err = servers.StartPostgres(); err != nil {
			return nil, err
		}
	}
	return e.postgres, nil
}

// maxTTL is that of every fleet here.
const maxTTL = 15 * time.Second

// fleetName is new with every call.
func (e *Env) fleetName() string { return fmt.Sprintf("fleet-%d", e.fleets.Add(1)) }

// place makes stores of one fleet: one for each instance, with connections of its own.
type place interface {
	// store opens a handle, with connections dialled through the wire where one is given.
	store(ctx context.Context, wire *lab.Wire) (coordinator.Store, func(), error)
}

// redisFleet is a provisioned fleet on a Redis server.
type redisFleet struct {
	addr, name string
	longest    time.Duration
}

func (e *Env) redisFleet(ctx context.Context) (*redisFleet, error) {
	r, err := e.Redis()
	if err != nil {
		return nil, err
	}
	f := &redisFleet{r.Addr(), e.fleetName(), maxTTL}
	s, end, err := f.open(nil)
	if err != nil {
		return nil, err
	}
	defer end()
	return f, s.Provision(ctx)
}

func (f *redisFleet) open(wire *lab.Wire) (*redisstore.Store, func(), error) {
	o := servers.Options(f.addr)
	if wire != nil {
		o.Dialer = wire.Dial
	}
	c := redis.NewClient(o)
	s, err := redisstore.New(c, redisstore.Config{Fleet: f.name, MaxTTL: f.longest})
	if err != nil {
		return nil, nil, err
	}
	return s, func() { _, _ = s.Close(), c.Close() }, nil
}

func (f *redisFleet) store(_ context.Context, wire *lab.Wire) (coordinator.Store, func(), error) {
	return f.open(wire)
}

// postgresFleet is a provisioned fleet on a PostgreSQL server.
type postgresFleet struct{ dsn, name string }

func (e *Env) postgresFleet(ctx context.Context) (*postgresFleet, error) {
	p, err := e.Postgres()
	if err != nil {
		return nil, err
	}
	f := &postgresFleet{p.DSN(), e.fleetName()}
	s, end, err := f.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := s.Migrate(ctx); err != nil {
		return nil, err
	}
	return f, s.Provision(ctx)
}

func (f *postgresFleet) open(ctx context.Context, wire *lab.Wire) (*postgresstore.Store, func(), error) {
	cfg, err := pgxpool.ParseConfig(f.dsn)
	if err != nil {
		return nil, nil, err
	}
	cfg.MaxConns = 4
	if wire != nil {
		cfg.ConnConfig.DialFunc = wire.Dial
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	s, err := postgresstore.New(pool, f.name, postgresstore.Config{MaxTTL: maxTTL})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return s, func() { _ = s.Close(); pool.Close() }, nil
}

func (f *postgresFleet) store(ctx context.Context, wire *lab.Wire) (coordinator.Store, func(), error) {
	return f.open(ctx, wire)
}

// walOf is the WAL that f writes per call, in bytes, on an otherwise quiet server.
func walOf(ctx context.Context, admin *pgx.Conn, n int, f func() error) (float64, error) {
	var before, after int64
	const position = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
	if err := admin.QueryRow(ctx, position).Scan(&before); err != nil {
		return 0, err
	}
	for range n {
		if err := f(); err != nil {
			return 0, err
		}
	}
	err := admin.QueryRow(ctx, position).Scan(&after)
	return float64(after-before) / float64(n), err
}
