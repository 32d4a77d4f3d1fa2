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
	// Fatal: the store refuses to open sessions and to grant, or the server does.
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

// Check looks at the server and at the client's options, and tries each command that the scripts use on a
// key of its own in the fleet's slot, of which nothing remains. It is made for a start-up log, a diagnostics
// page and a command line. The store itself asks the server before it opens a session, once per incarnation,
// and refuses what is fatal in its settings.
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
	if i["role"] != "slave" { // which takes no writes in any case
		found, err := s.try(ctx, i)
		if err != nil {
			return Report{}, err
		}
		r.Findings = append(found, r.Findings...)
	}
	if f, ok := s.judgeHints(ctx); ok {
		r.Findings = append(r.Findings, f)
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

// trial calls what the scripts call, on a key that does not exist, and answers what was refused: pairs of a command
// and the server's words. Where it may remove a field it also writes one, in the same step. What needs
// memory comes first: a script that has written before is let go on.
const trial = `
local refused, key = {'ok'}, KEYS[1]
local function try(...)
  local r = redis.pcall(...)
  if type(r) == 'table' and r.err then
    refused[#refused + 1] = (...)
    refused[#refused + 1] = r.err
    return false
  end
  return true
end
for _, c in ipairs({
  {'SET', key, '', 'XX'}, {'ZADD', key, 'XX', '0', 'm'}, {'TIME'}, {'GET', key}, {'HGET', key, 'f'}, {'HMGET', key, 'f'}, {'HLEN', key}, {'HGETALL', key}, {'HEXISTS', key, 'f'},
  {'HSCAN', key, '0'}, {'HRANDFIELD', key}, {'ZSCORE', key, 'm'}, {'ZRANGE', key, '0', '-1'}, {'ZRANGEBYSCORE', key, '0', '1'},
  {'ZREM', key, 'm'},
}) do try(unpack(c)) end
if not try('HDEL', key, 'f') then
  try('HSET', key)
elseif try('HSET', key, 'f', '') then
  redis.call('HDEL', key, 'f')
end
return refused
`

// try finds out whether the server takes what a fleet writes. Settings alone do not tell: memory fills up, replicas go, and
// rights are the user's.
func (s *Store) try(ctx context.Context, i info) (found []Finding, err error) {
	sc := &script{name: "check", plain: newText(trial), once: true}
	r, err := s.run(ctx, sc, []string{strings.TrimSuffix(s.keys.marker, "marker") + "check"})
	if err != nil {
		return nil, err
	}
	var lacking []string
	seen := map[string]bool{} // each cause is told once, whatever it kept from working
	for n := 1; n+1 < len(r); n += 2 {
		command, _ := r.text(n)
		said, _ := r.text(n + 1)
		f, known := refusal(said, i)
		switch {
		case known && !seen[f.Setting]:
			found = append(found, f)
		case !known && forbids(said):
			lacking = append(lacking, "+"+strings.ToLower(command))
		}
		seen[f.Setting] = true
	}
	if len(lacking) > 0 {
		found = append(found, Finding{
			Fatal: true, Setting: "rights of the user", Value: "without " + strings.Join(lacking, " "),
			Meaning: "what Tenure does needs these commands, and fails without them",
			Remedy:  "give them to the user, with ACL SETUSER name " + strings.Join(lacking, " "),
		})
	}
	return found, nil
}

// forbids reports whether the server's words are that the user may not do something.
func forbids(said string) bool {
	for _, words := range []string{"NOPERM", "can't run this command", "has no permissions", "can't access"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// refusal is what a server means that takes no writes now.
func refusal(said string, i info) (Finding, bool) {
	switch {
	case strings.Contains(said, "OOM "):
		return Finding{
			Fatal: true, Setting: "maxmemory", Value: i["used_memory_human"] + " used of " + i["maxmemory_human"],
			Meaning: "the server's memory is full, and it refuses what needs more: nothing new is granted",
			Remedy:  "raise maxmemory, or remove what others keep there",
		}, true
	case strings.Contains(said, "NOREPLICAS"):
		return Finding{
			Fatal: true, Setting: "min-replicas-to-write", Value: "not reached",
			Meaning: "too few replicas are in touch, and the master refuses all writes until they are",
			Remedy:  "bring the replicas back, or lower min-replicas-to-write",
		}, true
	case strings.Contains(said, "MISCONF"):
		return Finding{
			Fatal: true, Setting: "stop-writes-on-bgsave-error", Value: "yes",
			Meaning: "the server cannot save to its disk, and refuses all writes until it can",
			Remedy:  "look into the server's log, and free its disk or mend the rights on its directory",
		}, true
	case strings.Contains(said, "READONLY"):
		return Finding{
			Fatal: true, Setting: "role", Value: "replica", Meaning: "a replica takes no writes",
			Remedy: "connect to the master, or through Sentinel",
		}, true
	}
	return Finding{}, false
}

// judgeHints subscribes as Watch does, and sends nothing: a hint of its own would wake the whole fleet.
func (s *Store) judgeHints(ctx context.Context) (Finding, bool) {
	_, err := bounded(ctx, s, "check", func(ctx context.Context) (any, error) {
		sub := s.client.Subscribe(ctx)
		defer sub.Close()
		if err := sub.Subscribe(ctx, s.keys.channel); err != nil {
			return nil, err
		}
		return sub.ReceiveTimeout(ctx, silence)
	})
	if err == nil || !forbids(err.Error()) {
		return Finding{}, false
	}
	return Finding{
		Setting: "right to the hints", Value: "none",
		Meaning: "hints of what was released, and of who comes and goes, do not arrive: others learn it by asking, seconds later",
		Remedy:  "give the user the channel, with ACL SETUSER name &" + s.keys.channel + " +subscribe +publish",
	}, true
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
