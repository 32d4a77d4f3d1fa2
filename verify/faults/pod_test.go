package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// podEnv makes the test binary a pod: it holds the pod's configuration.
const podEnv = "TENURE_VERIFY_POD"

const (
	fleetName  = "verify"
	ttl        = 3 * time.Second
	writeEvery = 20 * time.Millisecond
)

var timing = lease.Timing{LeaseTTL: ttl, DrainTimeout: 5 * time.Second, HardStop: 2 * time.Second}

// podConfig is what a pod is told at its start.
type podConfig struct {
	Name    string
	Store   string // a URL: redis://, redis+sentinel://MASTER@HOST:PORT, redis+cluster://HOST:PORT, postgres://
	Witness string
	Keys    []string
}

// runPod is the main function of a pod: a store, a coordinator, Run.
func runPod(text string) error {
	var cfg podConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	go func() { // the end of the input is the end of whoever watches
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("pod", cfg.Name)
	store, err := openStore(cfg.Store, log)
	if err != nil {
		return err
	}
	workloads := make([]coordinator.Workload[string], len(cfg.Keys))
	for i, key := range cfg.Keys {
		workloads[i] = coordinator.Workload[string]{Key: key}
	}
	c, err := coordinator.New(store, workloads, cfg.work, coordinator.Config{
		Instance: instance.Instance{Labels: map[string]string{"pod": cfg.Name}}, Timing: timing, Logger: log,
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return c.Run(ctx)
}

// work writes to the witness until its term ends.
func (p podConfig) work(ctx context.Context, term *runner.Term, _ string) error {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		left := term.Left()
		if !term.Valid() {
			return lease.ErrLost
		}
		if err := p.send(ctx, report{Pod: p.Name, Key: term.Key(), Token: term.Token(), Left: left}); err != nil {
			return err
		}
		select {
		case <-tick.C:
			continue
		case <-term.Draining():
		case <-ctx.Done():
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return p.send(last, report{Pod: p.Name, Key: term.Key(), Token: term.Token(), Ended: true})
	}
}

var errStale = errors.New("the witness has seen a newer token")

func (p podConfig) send(ctx context.Context, r report) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Witness, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusConflict:
		return errStale
	}
	return fmt.Errorf("the witness answered %s", answer.Status)
}

// openStore opens what a URL names, with settings that suit a short TTL.
func openStore(url string, log *slog.Logger) (coordinator.Store, error) {
	if strings.HasPrefix(url, "postgres") {
		return postgresstore.Open(url, fleetName, postgresstore.Config{MaxTTL: ttl, Logger: log})
	}
	client, err := openRedis(url)
	if err != nil {
		return nil, err
	}
	return redisstore.New(client, redisstore.Config{Fleet: fleetName, MaxTTL: ttl, Logger: log})
}

func openRedis(url string) (redis.UniversalClient, error) {
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch kind, rest, _ := strings.Cut(url, "://"); kind {
	case "redis+sentinel":
		master, addr, _ := strings.Cut(rest, "@")
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: master, SentinelAddrs: []string{addr}, ContextTimeoutEnabled: true, DialTimeout: ttl / 4}), nil
	case "redis+cluster":
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: strings.Split(rest, ","), ContextTimeoutEnabled: true, DialTimeout: ttl / 4, MaintNotificationsConfig: quiet}), nil
	default:
		o, err := redis.ParseURL(url)
		if err != nil {
			return nil, err
		}
		o.ContextTimeoutEnabled, o.DialTimeout, o.MaintNotificationsConfig = true, ttl/4, quiet
		return redis.NewClient(o), nil
	}
}
