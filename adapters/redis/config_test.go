package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// unreachable is a client whose server does not exist: whatever is refused before any I/O is refused anyway.
func unreachable(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	ok := redisstore.Config{Fleet: "fleet"}
	single := unreachable(t)
	cluster := func(o redis.ClusterOptions) redis.UniversalClient {
		o.Addrs = []string{"127.0.0.1:1"}
		c := redis.NewClusterClient(&o)
		t.Cleanup(func() { c.Close() })
		return c
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { ring.Close() })
	for name, c := range map[string]struct {
		client redis.UniversalClient
		cfg    redisstore.Config
		words  []string
	}{
		"no client":            {nil, ok, []string{"client", "nil", "*redis.Client"}},
		"a nil client":         {(*redis.Client)(nil), ok, []string{"client", "nil"}},
		"a nil cluster client": {(*redis.ClusterClient)(nil), ok, []string{"client", "nil"}},
		"a ring":               {ring, ok, []string{"*redis.Ring", "two instances could own one key"}},
		"read only":            {cluster(redis.ClusterOptions{ReadOnly: true}), ok, []string{"ReadOnly", "replicas"}},
		"by latency":           {cluster(redis.ClusterOptions{RouteByLatency: true}), ok, []string{"replicas"}},
		"randomly":             {cluster(redis.ClusterOptions{RouteRandomly: true}), ok, []string{"replicas"}},
		"no fleet":             {single, redisstore.Config{}, []string{"Config.Fleet", "must not be empty"}},
		"a fleet with NUL":     {single, redisstore.Config{Fleet: "a\x00"}, []string{"Config.Fleet", "NUL"}},
		"a fleet of bad UTF-8": {single, redisstore.Config{Fleet: "\xff"}, []string{"Config.Fleet", "UTF-8"}},
		"a long fleet":         {single, redisstore.Config{Fleet: strings.Repeat("f", 513)}, []string{"Config.Fleet", "512"}},
		"a bad prefix":         {single, redisstore.Config{Fleet: "f", Prefix: "\xff"}, []string{"Config.Prefix", "UTF-8"}},
		"a short MaxTTL":       {single, redisstore.Config{Fleet: "f", MaxTTL: time.Microsecond}, []string{"Config.MaxTTL", "1µs", "1ms"}},
		"a negative MaxTTL":    {single, redisstore.Config{Fleet: "f", MaxTTL: -1}, []string{"Config.MaxTTL", "-1ns"}},
		"a long MaxTTL":        {single, redisstore.Config{Fleet: "f", MaxTTL: 25 * time.Hour}, []string{"Config.MaxTTL", "24h"}},
		"negative replicas":    {single, redisstore.Config{Fleet: "f", MinReplicas: -1}, []string{"Config.MinReplicas", "-1"}},
		"a negative wait":      {single, redisstore.Config{Fleet: "f", MinReplicas: 1, ReplicaTimeout: -1}, []string{"Config.ReplicaTimeout"}},
		"a wait for nothing":   {single, redisstore.Config{Fleet: "f", ReplicaTimeout: 1}, []string{"Config.ReplicaTimeout", "MinReplicas"}},
		"replicas of a cluster": {cluster(redis.ClusterOptions{}), redisstore.Config{Fleet: "f", MinReplicas: 1},
			[]string{"Config.MinReplicas", "ClusterClient", "min-replicas-to-write"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := redisstore.New(c.client, c.cfg)
			var invalid *lease.InvalidError
			if s != nil || !errors.Is(err, lease.ErrInvalid) || !errors.As(err, &invalid) {
				t.Fatalf("New answered %v, %v; want an *InvalidError", s, err)
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error %q does not say %q", err, w)
				}
			}
		})
	}
	for name, c := range map[string]redis.UniversalClient{"single": single, "cluster": cluster(redis.ClusterOptions{})} {
		if _, err := redisstore.New(c, ok); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Bad arguments are refused before any I/O: here there is no server at all.
func TestCallsRefuseBadArguments(t *testing.T) {
	s := open(t, unreachable(t), redisstore.Config{Fleet: "fleet", MaxTTL: time.Second})
	good := lease.NewSession("owner", time.Second)
	tooLong := lease.NewSession("owner", 2*time.Second)
	badKey := []lease.Lease{{Key: "a\x00b"}}
	self := registry.Self{Instance: instance.Instance{ID: "i"}}
	for name, err := range map[string]error{
		"open":           second(s.OpenSession(ctx, tooLong)),
		"open no ID":     second(s.OpenSession(ctx, lease.Session{Owner: "o", TTL: time.Second})),
		"renew":          second(s.Renew(ctx, tooLong)),
		"acquire TTL":    second(s.Acquire(ctx, tooLong, nil)),
		"acquire key":    second(s.Acquire(ctx, good, []string{"ok", ""})),
		"verify":         second(s.Verify(ctx, good, badKey)),
		"release":        s.Release(ctx, good, badKey),
		"close":          s.CloseSession(ctx, lease.Session{ID: "x", Owner: "", TTL: time.Second}),
		"revoke":         s.Revoke(ctx, ""),
		"heartbeat TTL":  second(s.Heartbeat(ctx, self, 0, 0)),
		"heartbeat self": second(s.Heartbeat(ctx, registry.Self{}, time.Second, 0)),
		"drain":          s.BeginDrain(ctx, ""),
		"leave":          s.Leave(ctx, "\xff"),
		"put":            s.PutStatus(ctx, "o", time.Second, []status.Record{{Key: "k", State: "odd"}}),
		"statuses":       second(s.Statuses(ctx, []string{""})),
		"watch":          s.Watch(ctx, nil),
	} {
		if !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := s.Renew(ctx, good); !errors.Is(err, lease.ErrUnavailable) {
		t.Errorf("Renew without a server: %v, want ErrUnavailable", err)
	}
}

func second[T any](_ T, err error) error { return err }
