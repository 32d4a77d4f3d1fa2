package redisstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/storetest"
)

// open makes a handle that is closed when the test ends.
func open(t testing.TB, c redis.UniversalClient, cfg redisstore.Config) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var ctx = context.Background()

func TestContractInVirtualTime(t *testing.T) {
	const maxTTL = 20 * time.Second
	storetest.Run(t, storetest.Config{
		Open: func(t *testing.T) (a, b storetest.Store) {
			m := redistest.Mini(t)
			cfg := redisstore.Config{Fleet: "fleet", MaxTTL: maxTTL}
			return open(t, redistest.Client(t, redistest.MiniOptions(m)), cfg), open(t, redistest.Client(t, redistest.MiniOptions(m)), cfg)
		},
		MaxTTL: maxTTL,
		Bubble: synctest.Test,
	})
}
