package redistest

import (
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
