package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/lease"
)

// Check finds what weakens the promise, and is silent about what is right.
func TestCheck(t *testing.T) {
	good := func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = time.Second, 1 }
	for name, c := range map[string]struct {
		args   []string
		client func(*redis.Options)
		want   map[string]string
	}{
		"a good server":      {[]string{"--appendonly", "yes"}, good, nil},
		"no persistence":     {nil, good, map[string]string{"appendonly": "no"}},
		"an evicting server": {[]string{"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"}, good, map[string]string{"maxmemory-policy": "allkeys-lru"}},
		"a volatile policy":  {[]string{"--appendonly", "yes", "--maxmemory-policy", "volatile-ttl"}, good, nil},
		"slow retries": {[]string{"--appendonly", "yes"}, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = 5*time.Second, 3 },
			map[string]string{"client option ReadTimeout x (MaxRetries+1)": "20s"}},
		"no read timeout": {[]string{"--appendonly", "yes"}, func(o *redis.Options) { o.ReadTimeout = -1 },
			map[string]string{"client option ReadTimeout x (MaxRetries+1)": "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t, c.args...)
			o := server.Options()
			c.client(o)
			s := open(t, redistest.Client(t, o), redisstore.Config{Fleet: "fleet"})
			r, err := s.Check(ctx)
			must(t, err)
			expect(t, r, c.want)
			if len(server.Admin("KEYS", "*").([]any)) != 0 {
				t.Error("Check wrote something")
			}
		})
	}
}

func expect(t *testing.T, r redisstore.Report, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, f := range r.Findings {
		got[f.Setting] = f.Value
		if f.Meaning == "" || f.Remedy == "" || !strings.Contains(f.String(), f.Remedy) {
			t.Errorf("a finding without meaning or remedy: %+v", f)
		}
	}
	for setting, value := range want {
		if got[setting] != value {
			t.Errorf("Check says of %s %q, want %q", setting, got[setting], value)
		}
		delete(got, setting)
	}
	if len(got) > 0 {
		t.Errorf("Check finds fault with %v", got)
	}
}

func TestCheckOfReplication(t *testing.T) {
	master := redistest.Start(t, "--appendonly", "yes")
	replica := redistest.StartReplica(t, master, "--appendonly", "yes")
	check := func(server *redistest.Server) redisstore.Report {
		o := server.Options()
		o.ReadTimeout = time.Second
		r, err := open(t, redistest.Client(t, o), redisstore.Config{Fleet: "fleet"}).Check(ctx)
		must(t, err)
		return r
	}
	expect(t, check(master), map[string]string{"min-replicas-to-write": "0"})
	expect(t, check(replica), map[string]string{"role": "replica"})
	onReplica, sess := open(t, replica.Client(), redisstore.Config{Fleet: "fleet"}), lease.NewSession("o", time.Second)
	for name, err := range map[string]error{
		"OpenSession": second(onReplica.OpenSession(ctx, sess)), "Renew": second(onReplica.Renew(ctx, sess)),
	} {
		if !errors.Is(err, lease.ErrReadOnlyStore) || errors.Is(err, lease.ErrUnavailable) || !redis.IsReadOnlyError(err) {
			t.Errorf("%s on a replica: %v, want ErrReadOnlyStore", name, err)
		}
	}
	master.Admin("CONFIG", "SET", "min-replicas-to-write", "1")
	master.Admin("CONFIG", "SET", "min-replicas-max-lag", "60")
	inTouch := func() bool { // a new replica counts once it has confirmed something
		return strings.Contains(master.Admin("INFO", "replication").(string), "min_slaves_good_slaves:1")
	}
	eventually(t, inTouch, "the master counts no replica")
	expect(t, check(master), map[string]string{"min-replicas-max-lag": "1m0s"})
	master.Admin("CONFIG", "SET", "min-replicas-max-lag", "5")
	eventually(t, inTouch, "the replica lags behind")
	expect(t, check(master), nil)
}

// A server that answers and takes no writes is unfit, whatever keeps it from writing; a user that cannot hear hints is not.
func TestCheckOfWrites(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes")
	o := server.Options()
	o.ReadTimeout = time.Second
	admin := open(t, redistest.Client(t, o), redisstore.Config{Fleet: "fleet"})
	check := func(s *redisstore.Store, want map[string]string, fatal bool) {
		t.Helper()
		r, err := s.Check(ctx)
		must(t, err)
		expect(t, r, want)
		if len(r.Findings) > 0 && r.Findings[0].Fatal != fatal {
			t.Errorf("fatal: %v, want %v: %v", r.Findings[0].Fatal, fatal, r.Findings)
		}
		if keys := server.Admin("KEYS", "*").([]any); len(keys) != 0 {
			t.Errorf("Check left %v behind", keys)
		}
	}
	check(admin, nil, false)
	server.Admin("CONFIG", "SET", "min-replicas-to-write", "1")
	check(admin, map[string]string{"min-replicas-to-write": "not reached"}, true)
	server.Admin("CONFIG", "SET", "min-replicas-to-write", "0")
	for rules, want := range map[string]map[string]string{
		"~* &* +@all -hset -set -zadd":   {"rights of the user": "without +set +zadd +hset"},
		"~* &* +@all -hdel":              {"rights of the user": "without +hdel"},
		"~* &* +@all -hget":              {"rights of the user": "without +hget"},
		"~* resetchannels +@all":         {"right to the hints": "none"},
		"~{tenure:fleet}:* &* +@all":     nil,
		"~* &* +@all -subscribe -config": {"right to the hints": "none"},
	} {
		server.Admin("ACL", "DELUSER", "ann")
		var list []any
		for rule := range strings.SplitSeq(rules, " ") {
			list = append(list, rule)
		}
		o := as(server, "ann", list...)
		o.ReadTimeout = time.Second
		_, fatal := want["rights of the user"]
		check(open(t, redistest.Client(t, o), redisstore.Config{Fleet: "fleet"}), want, fatal)
	}
	server.Admin("CONFIG", "SET", "maxmemory", "100kb")
	r, err := admin.Check(ctx)
	must(t, err)
	if len(r.Findings) != 1 || !r.Findings[0].Fatal || r.Findings[0].Setting != "maxmemory" || !strings.Contains(r.Findings[0].Value, "used of 100.00K") {
		t.Errorf("full memory: %v", r.Findings)
	}
}
