package soak

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

// redisSize reads what the server says about itself, this reader's connection left out.
func redisSize(t *testing.T, address string) func() figures {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: address, PoolSize: 1})
	t.Cleanup(func() { c.Close() })
	return func() figures {
		records, err := c.DBSize(context.Background()).Result()
		if err != nil {
			t.Errorf("size of the store: %v", err)
			return nil
		}
		f := figures{storeRecords: float64(records)}
		for name, field := range map[string]string{storeBytes: "used_memory", storeClients: "connected_clients"} {
			info, err := c.Info(context.Background()).Result()
			_, rest, found := strings.Cut(info, "\n"+field+":")
			value, _, _ := strings.Cut(rest, "\r")
			n, parseErr := strconv.ParseFloat(value, 64)
			if err != nil || !found || parseErr != nil {
				t.Errorf("%s of the store: %v, %v", field, err, parseErr)
			}
			f[name] = n
		}
		f[storeBytes] /= megabyte
		f[storeClients]--
		return f
	}
}

// postgresSize reads the size of the database and of the fleets' tables.
func postgresSize(t *testing.T, dsn string) func() figures {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn+"&pool_max_conns=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return func() figures {
		var size, clients, records float64
		err := pool.QueryRow(context.Background(), `SELECT pg_database_size(current_database()),
			(SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'),
			(SELECT coalesce(sum(n_live_tup), 0) FROM pg_stat_user_tables)`).Scan(&size, &clients, &records)
		if err != nil {
			t.Errorf("size of the store: %v", err)
			return nil
		}
		return figures{storeBytes: size / megabyte, storeClients: clients, storeRecords: records}
	}
}
