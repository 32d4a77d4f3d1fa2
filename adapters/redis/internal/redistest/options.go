package redistest

import (
	"context"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options are a client's options for the address. Retries are off, so that a test sees each outcome.
func Options(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, MaxRetries: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Mini returns an in-process server whose clock is the bubble's where it is used in one.
func Mini(tb testing.TB) *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	tb.Cleanup(m.Close)
	return m
}

// MiniOptions are a client's options for an in-process server, without any real network.
func MiniOptions(m *miniredis.Miniredis) *redis.Options {
	o := Options("127.0.0.1:1")
	o.Dialer = func(context.Context, string, string) (net.Conn, error) { return m.Dial() }
	return o
}
