package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// as returns options for a user with the given access rules.
func as(server *redistest.Server, name string, rules ...any) *redis.Options {
	server.Admin(append([]any{"ACL", "SETUSER", name, "on", ">secret"}, rules...)...)
	o := patient(server.Addr)
	o.Username, o.Password = name, "secret"
	return o
}

// minimalACL is what the documentation says is enough.
var minimalACL = []any{
	"~{tenure:fleet}:*", "&{tenure:fleet}:hints",
	"+evalsha", "+eval", "+time", "+info", "+publish", "+subscribe", "+ping",
	"+hget", "+hmget", "+hset", "+hdel", "+hlen", "+hgetall", "+hexists", "+hscan", "+hrandfield",
	"+get", "+set", "+zadd", "+zrem", "+zscore", "+zrange", "+zrangebyscore",
}

// everything calls each method once and fails the test where one fails.
func everything(t *testing.T, s *redisstore.Store) {
	t.Helper()
	sess := lease.NewSession("i", lease.DefaultMaxTTL)
	must(t, s.Provision(ctx))
	must(t, second(s.OpenSession(ctx, sess)))
	l := take(t, s, sess, "k")
	must(t, second(s.Renew(ctx, sess)))
	must(t, second(s.Verify(ctx, sess, []lease.Lease{l})))
	must(t, second(s.Leases(ctx)))
	must(t, s.Revoke(ctx, "k"))
	must(t, s.Release(ctx, sess, []lease.Lease{l}))
	must(t, s.CloseSession(ctx, sess))
	must(t, second(s.Heartbeat(ctx, registry.Self{Instance: instance.Instance{ID: "i"}}, time.Minute, 0)))
	must(t, second(s.Members(ctx)))
	must(t, s.BeginDrain(ctx, "i"))
	must(t, s.Leave(ctx, "i"))
	must(t, s.PutStatus(ctx, "i", time.Minute, nil))
	must(t, second(s.Statuses(ctx, []string{"k"})))
	must(t, second(s.AllStatuses(ctx)))
	must(t, s.PutTargets(ctx, assigner.Head{Token: 1, Planner: "i", History: []byte("h")}, []assigner.Set{{Instance: "i"}}, []instance.ID{"j"}))
	_, set, err := s.TargetsOf(ctx, "i")
	must(t, err)
	_, all, err := s.AllTargets(ctx)
	must(t, err)
	if !set.Found || len(all) != 1 {
		t.Errorf("the targets are %+v and %+v", set, all)
	}
	must(t, second(s.Check(ctx)))
}

func TestMinimalACLIsEnough(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redistest.Client(t, as(server, "minimal", minimalACL...)), redisstore.Config{Fleet: "fleet"})
	everything(t, s)
	watch(t, s)
	other := open(t, redistest.Client(t, as(server, "minimal")), redisstore.Config{Fleet: "other"})
	err := other.Provision(ctx)
	if !errors.Is(err, lease.ErrUnavailable) || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("keys of another fleet: %v", err)
	}
}

// On a cluster the client itself needs two commands more. Hints cross it.
func TestMinimalACLOnACluster(t *testing.T) {
	c := redistest.StartCluster(t, 2*time.Second)
	rules := append([]any{"ACL", "SETUSER", "minimal", "on", ">secret", "+cluster|slots", "+command"}, minimalACL...)
	for _, server := range append(c.Masters, c.Replicas...) {
		server.Admin(rules...)
	}
	o := c.Options(time.Second)
	o.Username, o.Password = "minimal", "secret"
	client := redis.NewClusterClient(o)
	t.Cleanup(func() { client.Close() })
	s := open(t, client, redisstore.Config{Fleet: "fleet"})
	everything(t, s)
	hints, _ := watch(t, s)
	must(t, second(s.Heartbeat(ctx, registry.Self{Instance: instance.Instance{ID: "far"}}, time.Minute, 0)))
	if got := <-hints; got.Instance != "far" {
		t.Errorf("hinted %+v", got)
	}
}

// Without the right to the channel there are no hints, and everything else works: no call fails, and
// none is carried out by half.
func TestFaultACLWithoutChannel(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := as(server, "deaf", "+@all", "~*", "resetchannels")
	everything(t, open(t, redistest.Client(t, o), redisstore.Config{Fleet: "quiet"}))
	f := startFleet(t, 3, 6, func(int) redis.UniversalClient { return redistest.Client(t, as(server, "deaf")) })
	f.settle()
	for _, hold := range f.holders[0].current() {
		hold.Release()
	}
	f.settle()
	if len(f.losses()) > 0 {
		t.Errorf("lost %v", f.losses())
	}
	err := open(t, redistest.Client(t, o), redisstore.Config{Fleet: "fleet"}).Watch(ctx, func(lease.Change) {})
	if !errors.Is(err, lease.ErrUnavailable) || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("Watch: %v", err)
	}
}

// Without INFO a wipe is still noticed; only a restart with old data would not be, and Check says so.
func TestFaultACLWithoutInfo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := as(server, "blind", "+@all", "-info", "~*", "&*")
	f := startFleet(t, 3, 6, func(int) redis.UniversalClient { return redistest.Client(t, o) })
	before, in := f.settle(), f.incarnation()
	r, err := f.holders[0].store.Check(ctx)
	must(t, err)
	if len(r.Findings) != 1 || r.Findings[0].Setting != "INFO" || r.Findings[0].Fatal {
		t.Errorf("Check says %v", r.Findings)
	}
	server.Admin("FLUSHALL")
	f.turned(in)
	f.thawed()
	f.kept(before)
}

// The server's memory is full and nothing may be evicted. Expected: what is held is kept, members stay
// members, and only new grants fail; afterwards all goes on.
func TestFaultMemoryIsFull(t *testing.T) {
	t.Parallel()
	server, f := onServer(t, "--maxmemory-policy", "noeviction")
	before, in := f.settle(), f.incarnation()
	self := registry.Self{Instance: instance.Instance{ID: "i"}}
	s := f.holders[0].store
	must(t, second(s.Heartbeat(ctx, self, faultTTL, 0)))
	server.Admin("CONFIG", "SET", "maxmemory", "1mb")
	for end := time.Now().Add(2 * faultTTL); time.Now().Before(end); time.Sleep(faultTTL / 8) {
		must(t, second(s.Heartbeat(ctx, self, faultTTL, 0)))
		f.kept(before)
	}
	sess := lease.NewSession("late", faultTTL)
	if _, err := s.OpenSession(ctx, sess); !errors.Is(err, lease.ErrUnavailable) || !redis.IsOOMError(err) {
		t.Errorf("OpenSession with full memory: %v", err)
	}
	for _, hold := range f.holders[0].current() {
		hold.Release() // works, and is not granted to anybody
	}
	time.Sleep(faultTTL / 4)
	server.Admin("CONFIG", "SET", "maxmemory", "0")
	f.settle()
	if now := f.incarnation(); now != in || len(f.losses()) > 0 {
		t.Errorf("the incarnation went from %d to %d, lost: %v", in, now, f.losses())
	}
}

// A server that may evict anything is refused, unless that is accepted. Then what it evicts is noticed, and
// nothing has two owners.
func TestFaultEviction(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory", "4mb", "--maxmemory-policy", "allkeys-random")
	strict := open(t, server.Client(), redisstore.Config{Fleet: "strict"})
	for name, err := range map[string]error{
		"OpenSession": second(strict.OpenSession(ctx, lease.NewSession("o", time.Second))),
		"Acquire":     second(strict.Acquire(ctx, lease.NewSession("o", time.Second), []string{"k"})),
	} {
		var invalid *lease.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "allkeys-random") || !strings.Contains(err.Error(), "AllowEviction") {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := startFleet(t, 3, 6, func(int) redis.UniversalClient { return redistest.Client(t, patient(server.Addr)) })
	f.settle()
	in := f.incarnation()
	c := server.Client()
	evicted := false
	for i := 0; i < 2000 && !evicted; i++ {
		must(t, c.Set(ctx, fmt.Sprint("filler-", i), strings.Repeat("x", 20_000), 0).Err())
		n, err := c.Exists(ctx, leasesKey, sessionsKey, markerKey).Result()
		must(t, err)
		evicted = n < 3
	}
	if !evicted {
		t.Skip("the server evicted everything but the fleet's keys")
	}
	eventually(t, func() bool { return f.incarnation() > in }, "the eviction went unnoticed")
	server.Admin("CONFIG", "SET", "maxmemory", "0")
	f.settle()
}

// prefixed is a client whose hook puts a prefix before every key, as wrappers for shared servers do.
func prefixed(c *redis.Client, prefix string) *redis.Client {
	c.AddHook(hook(func(_ context.Context, cmd redis.Cmder) {
		args := cmd.Args()
		if name := strings.ToLower(cmd.Name()); name != "eval" && name != "evalsha" {
			return
		}
		n, err := strconv.Atoi(fmt.Sprint(args[2]))
		if err != nil {
			panic(err)
		}
		for i := 3; i < 3+n; i++ {
			if key := args[i].(string); !strings.HasPrefix(key, prefix) {
				args[i] = prefix + key
			}
		}
	}))
	return c
}

// No key is built inside a script, so a hook that rewrites keys reaches all of them.
func TestFaultPrefixingHook(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	everything(t, open(t, prefixed(server.Client(), "app:"), redisstore.Config{Fleet: "fleet"}))
	for _, key := range server.Admin("KEYS", "*").([]any) {
		if !strings.HasPrefix(key.(string), "app:{tenure:fleet}:") {
			t.Errorf("the key %v escaped the prefix", key)
		}
	}
	// Another prefix is another fleet.
	sess := lease.NewSession("o", time.Minute)
	a := open(t, prefixed(server.Client(), "a:"), redisstore.Config{Fleet: "fleet", MaxTTL: time.Minute})
	b := open(t, prefixed(server.Client(), "b:"), redisstore.Config{Fleet: "fleet", MaxTTL: time.Minute})
	for _, s := range []*redisstore.Store{a, b} {
		must(t, s.Provision(ctx))
		must(t, second(s.OpenSession(ctx, sess)))
		take(t, s, sess, "k")
	}
	// Two stores that mean different keys must not be taken for one: a sees only its own.
	must(t, a.CloseSession(ctx, sess))
	must(t, second(b.Renew(ctx, sess)))
}

// The application has taken every connection of the pool. Expected: calls end with their context, nothing is
// lost that a shorter wait would have kept, and a client of its own spares Tenure all of this.
// Failure 67.
func TestFaultPoolIsExhausted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := server.Options()
	o.PoolSize, o.PoolTimeout = 2, time.Hour
	c := redistest.Client(t, o)
	s, sess := ready(t, server, c, redisstore.Config{})
	l := take(t, s, sess, "k")
	hog, free := context.WithCancel(ctx)
	for range 2 {
		conn := c.Conn()
		must(t, conn.Ping(ctx).Err())
		go func() { <-hog.Done(); conn.Close() }()
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := s.Renew(short, sess)
	if !errors.Is(err, lease.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > time.Second {
		t.Fatalf("after %v: %v", time.Since(begun), err)
	}
	free()
	eventually(t, func() bool { return second(s.Renew(ctx, sess)) == nil }, "the store does not recover")
	v, err := s.Verify(ctx, sess, []lease.Lease{l})
	must(t, err)
	if len(v.Lost) > 0 {
		t.Errorf("lost %+v", v.Lost)
	}
}

// A script of somebody else keeps the server busy. BUSY is an unknown outcome like any other.
func TestFaultBusyServer(t *testing.T) {
	t.Parallel()
	server, f := onServer(t, "--busy-reply-threshold", "50")
	before := f.settle()
	c := redistest.Client(t, server.Options())
	go c.Eval(ctx, "local n = 0 while true do n = n + 1 end", nil)
	s := f.holders[0].store
	var err error
	eventually(t, func() bool {
		limited, cancel := context.WithTimeout(ctx, faultTTL/8)
		defer cancel()
		_, err = s.Leases(limited)
		return err != nil && strings.Contains(err.Error(), "BUSY")
	}, "the server is never busy")
	if !errors.Is(err, lease.ErrUnavailable) {
		t.Error(err)
	}
	server.Admin("SCRIPT", "KILL")
	f.settle()
	time.Sleep(faultTTL / 2)
	f.kept(before)
}

// A key of the fleet is somebody else's. The error says what to do.
func TestForeignKeyIsNamed(t *testing.T) {
	server := redistest.Start(t)
	server.Admin("SET", leasesKey, "not ours")
	s := open(t, server.Client(), redisstore.Config{Fleet: "fleet"})
	_, err := s.OpenSession(ctx, lease.NewSession("o", time.Second))
	if !errors.Is(err, lease.ErrUnavailable) || !strings.Contains(err.Error(), "choose another Config.Prefix") {
		t.Error(err)
	}
}
