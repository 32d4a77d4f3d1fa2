package redisstore_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/lease"
)

// set writes what the token's owner says, and answers how its own keys and arguments look.
var set = redisstore.NewFenced(`redis.call('SET', KEYS[1], ARGV[1]); return {#KEYS, #ARGV, KEYS[1], ARGV[1]}`)

func held(token uint64) lease.Lease { return lease.Lease{Key: "k", Token: token} }

func TestFencedWrites(t *testing.T) {
	small := miniredis.RunT(t)
	for name, client := range map[string]*redis.Client{
		"server": redistest.Start(t).Client(), "miniredis": redistest.Client(t, redistest.Options(small.Addr())),
	} {
		t.Run(name, func(t *testing.T) { fencedWrites(t, client) })
	}
}

func fencedWrites(t *testing.T, client *redis.Client) {
	write := func(token uint64, value string) error {
		t.Helper()
		v, err := set.Run(ctx, client, "{doc}:fence", held(token), []string{"{doc}:text"}, value)
		if err != nil {
			return err
		}
		if got, ok := v.([]any); !ok || len(got) != 4 || got[0] != int64(1) || got[1] != int64(1) || got[2] != "{doc}:text" || got[3] != value {
			t.Errorf("the script saw %v", v)
		}
		return nil
	}
	text := func() string { return client.Get(ctx, "{doc}:text").Val() }
	const big = uint64(1) << 63
	for _, token := range []uint64{9, 9, 10, 1764543210123456, big, big + 1} { // 10 is above 9 although "10" is not; both near 2^63 are one number in Lua
		if err := write(token, "by "+strconv.FormatUint(token, 10)); err != nil {
			t.Errorf("token %d: %v", token, err)
		}
	}
	for _, token := range []uint64{1, 9, 1764543210123456, big} {
		err := write(token, "too late")
		var fenced *redisstore.WriteFencedError
		if !errors.Is(err, redisstore.ErrWriteFenced) || !errors.As(err, &fenced) || fenced.Highest != "9223372036854775809" || fenced.Lease.Token != token {
			t.Errorf("token %d: %v", token, err)
		}
	}
	if text() != "by 9223372036854775809" {
		t.Errorf("written: %q", text())
	}
	if ttl := client.TTL(ctx, "{doc}:fence").Val(); ttl >= 0 {
		t.Errorf("the fence expires in %v", ttl)
	}
	if _, err := set.Run(ctx, client, "", held(1), nil); !errors.Is(err, lease.ErrInvalid) {
		t.Error(err)
	}
	if _, err := set.Run(ctx, client, "fence", lease.Lease{Key: "k"}, nil); !errors.Is(err, lease.ErrInvalid) {
		t.Error(err)
	}
	client.Set(ctx, "no fence", "text", 0)
	if _, err := set.Run(ctx, client, "no fence", held(1), []string{"x"}, "y"); err == nil || !strings.Contains(err.Error(), "holds no token") {
		t.Error(err)
	}
	if client.Exists(ctx, "x").Val() != 0 {
		t.Error("written past a fence that is none")
	}
}

// Whoever writes with the highest token has the last word, whatever the order in which writes arrive.
func TestFencedWritesInAnyOrder(t *testing.T) {
	client := redistest.Start(t).Client()
	last := redisstore.NewFenced(`
		local before = redis.call('GET', KEYS[1])
		redis.call('SET', KEYS[1], ARGV[1])
		redis.call('RPUSH', KEYS[2], ARGV[1])
		return before`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				token := 1 + rand.Uint64N(1000)
				if _, err := last.Run(ctx, client, "{d}:f", held(token), []string{"{d}:v", "{d}:log"}, token); err != nil &&
					!errors.Is(err, redisstore.ErrWriteFenced) && !errors.Is(err, redis.Nil) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	log := client.LRange(ctx, "{d}:log", 0, -1).Val()
	if len(log) < 2 {
		t.Fatalf("%d writes were let through", len(log))
	}
	before := 0
	for _, s := range log {
		n, err := strconv.Atoi(s)
		if err != nil || n < before {
			t.Fatalf("%d was written after %d (%v)", n, before, err)
		}
		before = n
	}
}
