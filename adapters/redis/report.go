package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Report says where a fleet lives and what its server's settings mean for it.
type Report struct {
	// Version and Mode of the server ("7.2.4", "standalone", "cluster"); empty where INFO is not allowed.
	Version, Mode string
	// Database is the number that the client selects. Instances of one fleet that select different
	// ones are two fleets.
	Database int
	// Keys is a pattern that matches every key of the fleet, and Channel is where its hints go: what an
	// access rule has to name.
	Keys, Channel string
	// Findings, the gravest first; empty where all is well.
	Findings []Finding
}

// Finding is a setting that weakens what the store can promise.
type Finding struct {
	// Fatal: the store refuses to open sessions and to grant.
	Fatal bool
	// Setting and Value, as the server or the client names them.
	Setting, Value string
	// Meaning is what may happen, and Remedy what to do about it.
	Meaning, Remedy string
}

// String is the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s; %s", f.Setting, f.Value, f.Meaning, f.Remedy)
}

// Check looks at the server and at the client's options. It changes nothing, and is made for a start-up
// log, a diagnostics page and a command line. The store itself asks the server before it opens a session, once
// per incarnation, and refuses what is fatal.
func (s *Store) Check(ctx context.Context) (Report, error) {
	i, err := s.info(ctx)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Version: i["redis_version"], Mode: i["redis_mode"],
		Keys: strings.TrimSuffix(s.keys.marker, "marker") + "*", Channel: s.keys.channel,
		Findings: s.judge(i),
	}
	if c, ok := s.client.(*redis.Client); ok {
		r.Database = c.Options().DB
		r.Findings = append(r.Findings, s.judgeClient(c.Options())...)
	}
	if f, ok := s.judgeLag(ctx, i); ok {
		r.Findings = append(r.Findings, f)
	}
	if i["aof_enabled"] == "0" {
		r.Findings = append(r.Findings, Finding{
			Setting: "appendonly", Value: "no",
			Meaning: "a restart brings back old data or none: grants then freeze for MaxTTL, and holders that cannot be reached meanwhile lose their leases",
			Remedy:  "set appendonly yes, or accept it",
		})
	}
	return r, nil
}

// judge finds what the server's own settings weaken.
func (s *Store) judge(i info) (found []Finding) {
	if len(i) == 0 {
		return []Finding{{
			Setting: "INFO", Value: "not allowed",
			Meaning: "a restart with old data, or the promotion of a lagging replica, cannot be told from normal work, so two owners are possible after one",
			Remedy:  "allow this user the command INFO",
		}}
	}
	if v := i["redis_version"]; older(v, 6, 2) {
		found = append(found, Finding{
			Fatal: true, Setting: "redis_version", Value: v, Meaning: "the scripts need commands of Redis 6.2",
			Remedy: "upgrade the server to 6.2 or newer",
		})
	}
	if p := i["maxmemory_policy"]; strings.HasPrefix(p, "allkeys-") {
		found = append(found, Finding{
			Fatal: !s.cfg.AllowEviction, Setting: "maxmemory-policy", Value: p,
			Meaning: "the server may delete leases that are held; each deletion freezes all grants for MaxTTL",
			Remedy:  "set maxmemory-policy noeviction or volatile-lru (no key of Tenure has a Redis TTL), or accept it with Config.AllowEviction",
		})
	}
	if i["role"] == "slave" {
		found = append(found, Finding{
			Setting: "role", Value: "replica", Meaning: "a replica takes no writes",
			Remedy: "connect to the master, or through Sentinel",
		})
	}
	_, guarded := i["min_slaves_good_slaves"] // only shown where both settings are above zero
	if replicas, _ := strconv.Atoi(i["connected_slaves"]); (replicas > 0 || i["redis_mode"] == "cluster") && !guarded {
		found = append(found, Finding{
			Setting: "min-replicas-to-write", Value: "0",
			Meaning: "a master that the network cuts off goes on granting while its replica is promoted, so two owners are possible",
			Remedy:  "set min-replicas-to-write 1 and min-replicas-max-lag below the time that a fail-over takes",
		})
	}
	return found
}

// judgeLag looks at how long a master that was cut off goes on. It asks with CONFIG, which many
// users may not do; then it says nothing.
func (s *Store) judgeLag(ctx context.Context, i info) (Finding, bool) {
	if _, guarded := i["min_slaves_good_slaves"]; !guarded {
		return Finding{}, false
	}
	values, err := bounded(ctx, s, "check", func(ctx context.Context) (map[string]string, error) {
		node, ok := s.client.(*redis.Client)
		if cluster, is := s.client.(*redis.ClusterClient); is {
			var err error
			if node, err = cluster.MasterForKey(ctx, s.keys.marker); err != nil {
				return nil, err
			}
		} else if !ok {
			return nil, nil
		}
		return node.ConfigGet(ctx, "min-replicas-max-lag").Result()
	})
	seconds, bad := strconv.Atoi(values["min-replicas-max-lag"])
	lag := time.Duration(seconds) * time.Second
	if err != nil || bad != nil || lag < s.cfg.MaxTTL {
		return Finding{}, false
	}
	return Finding{
		Setting: "min-replicas-max-lag", Value: lag.String(),
		Meaning: fmt.Sprintf("a master that the network cuts off goes on granting for as long, which is not below MaxTTL (%v)", s.cfg.MaxTTL),
		Remedy:  "set it below the time that a fail-over takes",
	}, true
}

// judgeClient finds options under which calls hang for long. They are left in time; but connections stay
// occupied, and a pool can run dry.
func (s *Store) judgeClient(o *redis.Options) []Finding {
	longest := o.ReadTimeout * time.Duration(o.MaxRetries+1)
	if o.ReadTimeout > 0 && longest <= s.cfg.MaxTTL {
		return nil
	}
	value := longest.String()
	if o.ReadTimeout <= 0 {
		value = "none"
	}
	return []Finding{{
		Setting: "client option ReadTimeout x (MaxRetries+1)", Value: value,
		Meaning: fmt.Sprintf("a call that hangs keeps its connection for longer than a session lives (%v)", s.cfg.MaxTTL),
		Remedy:  "give Tenure a client of its own with ContextTimeoutEnabled, or lower ReadTimeout or MaxRetries",
	}}
}

// older reports whether a version such as "6.0.16" is below major.minor. What cannot be read is not old.
func older(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a < major || a == major && b < minor)
}
