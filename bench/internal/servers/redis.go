package servers

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis is a private redis-server without persistence.
type Redis struct{ *Process }

// StartRedis starts one.
func StartRedis() (*Redis, error) {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server is not installed (Debian: apt-get install redis-server): %w", err)
	}
	dir, err := os.MkdirTemp("", "tenure-bench-redis-")
	if err != nil {
		return nil, err
	}
	p, err := launch(dir, "Ready to accept connections", func(port int) *exec.Cmd {
		cmd := exec.Command(bin, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir, "--save", "", "--appendonly", "no")
		cmd.SysProcAttr = tied(nil)
		return cmd
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &Redis{p}, nil
}

// Addr is where it listens.
func (r *Redis) Addr() string { return fmt.Sprintf("127.0.0.1:%d", r.Port) }

// Options are those of every client here, ours and the peers': calls end with their contexts, and nothing
// is repeated behind the measurement's back.
func Options(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1,
		// A call over 10 000 leases one by one shares its server with nobody; let none give up early.
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Client returns a new client of the server.
func (r *Redis) Client() *redis.Client { return redis.NewClient(Options(r.Addr())) }
