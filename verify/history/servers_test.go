package history_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/verify/internal/servers"
)

// remote is a trial of a store behind a socket: calls take longer, so sessions live longer.
var remote = trial{clients: 4, calls: 40, ttl: 60 * time.Millisecond, hurry: 2 * time.Millisecond, forget: .03}

func TestRedisIsLinearizable(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: servers.Redis(t), ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	linearizable(t, 8, remote, func(round int) func(int) lease.Manager {
		first := true
		return func(int) lease.Manager {
			s, err := redisstore.New(client, redisstore.Config{Fleet: fmt.Sprint("fleet-", round)})
			if err == nil && first {
				err, first = s.Provision(t.Context()), false
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}
	})
}

func TestPostgresIsLinearizable(t *testing.T) {
	pool, err := pgxpool.New(context.Background(), servers.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	migrated := false
	linearizable(t, 8, remote, func(round int) func(int) lease.Manager {
		first := true
		return func(int) lease.Manager {
			s, err := postgresstore.New(pool, fmt.Sprint("fleet-", round), postgresstore.Config{})
			if err == nil && !migrated {
				err, migrated = s.Migrate(t.Context()), true
			}
			if err == nil && first {
				err, first = s.Provision(t.Context()), false
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}
	})
}
