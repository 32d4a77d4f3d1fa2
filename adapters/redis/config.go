package redisstore

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/lease"
)

// Config names the fleet; everything else is optional.
type Config struct {
	// Fleet is the namespace: instances, leases and statuses of one fleet see each other, and nothing
	// of another fleet. 1 to 512 bytes of UTF-8 without NUL, compared byte for byte. Required.
	Fleet string
	// Prefix begins every key and the channel, so that fleets of different applications may have the
	// same name. Default "tenure". The same rules as for Fleet.
	Prefix string
	// MaxTTL is the longest session TTL of the fleet, and how long grants are frozen after data was
	// lost. 1 ms to 24 h; default lease.DefaultMaxTTL (15 s). It should be the same everywhere; the fleet
	// remembers the longest that it has heard of.
	MaxTTL time.Duration
	// MinReplicas is how many replicas must have confirmed a grant before Acquire answers with it; otherwise
	// the answer is lease.ErrUnavailable and the caller asks again. Default 0: none is waited for. It needs a
	// *redis.Client; on a cluster use the server's min-replicas-to-write.
	MinReplicas int
	// ReplicaTimeout is how long Acquire waits for the replicas, within what its context has left.
	// Default 500 ms. It needs MinReplicas.
	ReplicaTimeout time.Duration
	// AllowEviction accepts a server whose eviction policy may delete the fleet's keys at any time
	// (allkeys-*). Every deleted record then costs the fleet a freeze. Default: refused.
	AllowEviction bool
	// Logger receives what operators should know: new incarnations and weak server settings.
	// Default: silent.
	Logger *slog.Logger
}

// DefaultPrefix begins every key unless Config.Prefix is set.
const DefaultPrefix = "tenure"

const defaultReplicaTimeout = 500 * time.Millisecond

// resolve fills in the defaults, or names the first field that cannot be used.
func (c Config) resolve(client redis.UniversalClient) (Config, error) {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.MaxTTL == 0 {
		c.MaxTTL = lease.DefaultMaxTTL
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, f := range []struct{ name, value string }{{"Config.Fleet", c.Fleet}, {"Config.Prefix", c.Prefix}} {
		if err := lease.CheckKey(f.value); err != nil {
			return c, renamed(err, f.name)
		}
	}
	if err := lease.CheckTTL(c.MaxTTL); err != nil {
		return c, renamed(err, "Config.MaxTTL")
	}
	return c.resolveReplicas(client)
}

func (c Config) resolveReplicas(client redis.UniversalClient) (Config, error) {
	_, single := client.(*redis.Client)
	switch {
	case c.MinReplicas < 0:
		return c, invalid("Config.MinReplicas", c.MinReplicas, "must not be negative; zero means that no replica is waited for")
	case c.ReplicaTimeout < 0:
		return c, invalid("Config.ReplicaTimeout", c.ReplicaTimeout, "must not be negative; zero means 500ms")
	case c.ReplicaTimeout > 0 && c.MinReplicas == 0:
		return c, invalid("Config.ReplicaTimeout", c.ReplicaTimeout, "has no effect without MinReplicas; set both or neither")
	case c.MinReplicas > 0 && !single:
		return c, invalid("Config.MinReplicas", c.MinReplicas, fmt.Sprintf(
			"cannot be waited for through a %T; set min-replicas-to-write on the servers instead", client))
	}
	if c.ReplicaTimeout == 0 {
		c.ReplicaTimeout = defaultReplicaTimeout
	}
	return c, nil
}

// checkClient refuses clients that would break the promise of one owner.
func checkClient(client redis.UniversalClient) error {
	switch c := client.(type) {
	case nil:
		return invalid("client", "nil", "pass a *redis.Client or a *redis.ClusterClient")
	case *redis.Client:
		if c == nil {
			return invalid("client", "nil *redis.Client", "pass the client that redis.NewClient returned")
		}
	case *redis.Ring:
		return invalid("client", "*redis.Ring",
			"a ring moves keys to another server while one is down, so two instances could own one key; use redis.NewClient, redis.NewFailoverClient or redis.NewClusterClient")
	case *redis.ClusterClient:
		if c == nil {
			return invalid("client", "nil *redis.ClusterClient", "pass the client that redis.NewClusterClient returned")
		}
		return checkCluster(c.Options())
	}
	return nil
}

// checkCluster refuses reads from replicas: a replica may show a lease that is over.
func checkCluster(o *redis.ClusterOptions) error {
	for _, f := range []struct {
		name string
		on   bool
	}{{"ReadOnly", o.ReadOnly}, {"RouteByLatency", o.RouteByLatency}, {"RouteRandomly", o.RouteRandomly}} {
		if f.on {
			return invalid("client option ClusterOptions."+f.name, true,
				"may send calls to replicas, which lag behind; give Tenure a client of its own without it")
		}
	}
	return nil
}
