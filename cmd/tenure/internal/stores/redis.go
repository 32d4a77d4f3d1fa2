package stores

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/lease"
)

// redisHandle is a fleet in Redis, with a client of its own.
type redisHandle struct {
	*redisstore.Store
	client redis.UniversalClient
	cfg    Config
	// dial makes another client like this one.
	dial func() redis.UniversalClient
}

func openRedis(cfg Config) (Handle, error) {
	a, err := parse(cfg.URL, "6379")
	if err != nil {
		return nil, err
	}
	if len(a.hosts) > 1 {
		return nil, invalid("--store: redis:// names one host; use redis+sentinel:// or redis+cluster:// for several")
	}
	if err := a.checkDatabase(a.path); err != nil {
		return nil, err
	}
	u := a.base("/" + strings.Join(a.path, "/"))
	u.User = a.user
	q := u.Query()
	q.Del("addr")
	u.RawQuery = q.Encode()
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, unparsed(err, a.params)
	}
	o.ContextTimeoutEnabled, o.DialerRetries = true, 1
	tune(cfg, a.params, &o.MaxRetries, &o.ReadTimeout, &o.WriteTimeout, &o.DialTimeout)
	o.MaintNotificationsConfig = quiet()
	return newRedis(cfg, func() redis.UniversalClient {
		c, p := *o, newPatience(cfg)
		if !a.params.Has("dial_timeout") { // with several hosts a dead one must not take all the time
			c.Dialer, c.DialTimeout = p.dialer(c), ruled
		}
		client := redis.NewClient(&c)
		client.AddHook(p)
		return client
	})
}

func openSentinel(cfg Config) (Handle, error) {
	a, err := parse(cfg.URL, "26379")
	if err != nil {
		return nil, err
	}
	if len(a.path) == 0 {
		return nil, invalid("--store: the master's name is missing; write redis+sentinel://host1,host2/mymaster")
	}
	if err := a.checkDatabase(a.path[1:]); err != nil {
		return nil, err
	}
	for _, name := range []string{"username", "password", "master_name"} {
		if a.params.Has(name) {
			return nil, invalid("--store: parameter %q has its place before the question mark; write redis+sentinel://user:password@host1,host2/mymaster", name)
		}
	}
	u := a.base("/" + strings.Join(a.path[1:], "/"))
	q := u.Query()
	q.Set("master_name", a.path[0])
	sentinel := [2]string{q.Get("sentinel_username"), q.Get("sentinel_password")}
	q.Del("sentinel_username")
	q.Del("sentinel_password")
	if a.user != nil {
		password, _ := a.user.Password()
		q.Set("username", a.user.Username())
		q.Set("password", password)
	}
	u.RawQuery = q.Encode()
	o, err := redis.ParseFailoverURL(u.String())
	if err != nil {
		return nil, unparsed(err, a.params)
	}
	o.SentinelUsername, o.SentinelPassword = sentinel[0], sentinel[1]
	if o.RouteByLatency || o.RouteRandomly || o.ReplicaOnly {
		return nil, invalid("--store: route_by_latency, route_randomly and replica_only read from replicas, which lag; leave them out")
	}
	o.ContextTimeoutEnabled, o.DialerRetries = true, 1
	tune(cfg, a.params, &o.MaxRetries, &o.ReadTimeout, &o.WriteTimeout, &o.DialTimeout)
	return newRedis(cfg, func() redis.UniversalClient {
		c := *o
		client := redis.NewFailoverClient(&c)
		client.AddHook(newPatience(cfg))
		return client
	})
}

func openCluster(cfg Config) (Handle, error) {
	a, err := parse(cfg.URL, "6379")
	if err != nil {
		return nil, err
	}
	if len(a.path) > 0 {
		return nil, invalid("--store: a cluster has one database; write redis+cluster://host1,host2 without a path")
	}
	u := a.base("")
	u.User = a.user
	o, err := redis.ParseClusterURL(u.String())
	if err != nil {
		return nil, unparsed(err, a.params)
	}
	o.ContextTimeoutEnabled, o.DialerRetries = true, 1
	tune(cfg, a.params, &o.MaxRetries, &o.ReadTimeout, &o.WriteTimeout, &o.DialTimeout)
	o.MaintNotificationsConfig = quiet()
	return newRedis(cfg, func() redis.UniversalClient {
		c, p := *o, newPatience(cfg)
		c.NewClient = func(node *redis.Options) *redis.Client {
			client := redis.NewClient(node)
			client.AddHook(p)
			return client
		}
		return redis.NewClusterClient(&c)
	})
}

// tune sets what the URL leaves open: calls end with their contexts and are repeated by the engines, which know how
// much of the lease is left, rather than by the driver.
func tune(cfg Config, params url.Values, retries *int, read, write, dial *time.Duration) {
	if !params.Has("max_retries") {
		*retries = -1
	}
	for _, t := range []struct {
		name string
		d    *time.Duration
		to   time.Duration
	}{{"read_timeout", read, ruled}, {"write_timeout", write, ruled}, {"dial_timeout", dial, cfg.CallTimeout}} {
		if !params.Has(t.name) {
			*t.d = t.to
		}
	}
}

func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func newRedis(cfg Config, dial func() redis.UniversalClient) (Handle, error) {
	client := dial()
	s, err := redisstore.New(client, redisstore.Config{Fleet: cfg.Fleet, Prefix: cfg.Prefix, MaxTTL: cfg.MaxTTL, Logger: cfg.Logger})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &redisHandle{Store: s, client: client, cfg: cfg, dial: dial}, nil
}

// Close closes the store and its client.
func (h *redisHandle) Close() error { return errors.Join(h.Store.Close(), h.client.Close()) }

// Where implements Handle.
func (h *redisHandle) Where() string { return redacted(h.cfg.URL) }

// ServerTime implements Handle.
func (h *redisHandle) ServerTime(ctx context.Context) (time.Time, error) {
	return h.client.Time(ctx).Result()
}

// Migrate implements Handle: Redis has no schema.
func (h *redisHandle) Migrate(context.Context) error { return ErrNoSchema }

// Inspect implements Handle.
func (h *redisHandle) Inspect(ctx context.Context) (Report, error) {
	r, err := h.Check(ctx)
	if err != nil {
		return Report{}, err
	}
	out := Report{Server: "Redis"}
	if r.Version != "" {
		out.Server = fmt.Sprintf("Redis %s (%s)", r.Version, r.Mode)
	}
	out.Details = []Detail{
		{"database", strconv.Itoa(r.Database)}, {"keys of the fleet", r.Keys}, {"channel of the hints", r.Channel},
	}
	client, single := h.client.(*redis.Client)
	for _, f := range r.Findings {
		if single && client.Options().ReadTimeout == ruled && strings.HasPrefix(f.Setting, "client option") {
			continue // each call has a shorter deadline of its own
		}
		// A replica answers, and takes no writes: nothing works through it.
		fatal := f.Fatal || f.Setting == "role"
		out.Findings = append(out.Findings, Finding{Fatal: fatal, Setting: f.Setting, Value: f.Value, Meaning: f.Meaning, Remedy: f.Remedy})
	}
	out.Findings = gravest(out.Findings)
	return out, nil
}

// redisScratch keeps scratch fleets under a prefix of their own.
type redisScratch struct {
	handle *redisHandle
	cfg    Config
}

// Scratch implements Handle.
func (h *redisHandle) Scratch(name string, maxTTL time.Duration) Scratch {
	cfg := h.cfg
	cfg.Prefix, cfg.MaxTTL = name, maxTTL
	return &redisScratch{handle: h, cfg: cfg}
}

// Prepare implements Scratch: there is nothing to make.
func (s *redisScratch) Prepare(ctx context.Context) error {
	if err := s.handle.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("%w: %w", lease.ErrUnavailable, err)
	}
	return nil
}

// Open implements Scratch.
func (s *redisScratch) Open(fleet string) (Store, error) {
	cfg := s.cfg
	cfg.Fleet = fleet
	return newRedis(cfg, s.handle.dial)
}

// keys are all keys of a scratch fleet, whose name needs no encoding.
func (s *redisScratch) keys(fleet string) string { return "{" + s.cfg.Prefix + ":" + fleet + "}:*" }

// Wipe implements Scratch.
func (s *redisScratch) Wipe() func(ctx context.Context, fleet string) error {
	return func(ctx context.Context, fleet string) error { return s.remove(ctx, s.keys(fleet)) }
}

// Remove implements Scratch.
func (s *redisScratch) Remove(ctx context.Context) error { return s.remove(ctx, s.keys("*")) }

// remove deletes the keys that match, on every master.
func (s *redisScratch) remove(ctx context.Context, pattern string) error {
	if cluster, ok := s.handle.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return removeFrom(ctx, c, pattern) })
	}
	return removeFrom(ctx, s.handle.client, pattern)
}

func removeFrom(ctx context.Context, c redis.UniversalClient, pattern string) error {
	found := c.Scan(ctx, 0, pattern, 1000).Iterator()
	for found.Next(ctx) {
		if err := c.Del(ctx, found.Val()).Err(); err != nil { // one by one: they may be in several slots
			return err
		}
	}
	return found.Err()
}
