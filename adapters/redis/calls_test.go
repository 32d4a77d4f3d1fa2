package redisstore_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

// ready is a provisioned store on a private server, and a session on it.
func ready(t *testing.T, server *redistest.Server, c redis.UniversalClient, cfg redisstore.Config) (*redisstore.Store, lease.Session) {
	t.Helper()
	if cfg.Fleet == "" {
		cfg.Fleet = "fleet"
	}
	if c == nil {
		c = server.Client()
	}
	s := open(t, c, cfg)
	must(t, s.Provision(ctx))
	sess := lease.NewSession(instance.New(), lease.DefaultMaxTTL)
	_, err := s.OpenSession(ctx, sess)
	must(t, err)
	return s, sess
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// take acquires one key or fails the test.
func take(t *testing.T, s lease.Manager, sess lease.Session, key string) lease.Lease {
	t.Helper()
	g, err := s.Acquire(ctx, sess, []string{key})
	must(t, err)
	if len(g.Leases) != 1 {
		t.Fatalf("%q was refused: %+v (%+v)", key, g.Refused, g.Incarnation)
	}
	return g.Leases[0]
}

func names(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%05d", i)
	}
	return keys
}

// traffic is what the server has seen since its statistics were reset: commands by name, and bytes read.
func traffic(server *redistest.Server) (commands map[string]int, bytes int) {
	commands = map[string]int{}
	for _, m := range regexp.MustCompile(`cmdstat_(\w+):calls=(\d+)`).FindAllStringSubmatch(server.Admin("INFO", "commandstats").(string), -1) {
		commands[m[1]], _ = strconv.Atoi(m[2])
	}
	m := regexp.MustCompile(`total_net_input_bytes:(\d+)`).FindStringSubmatch(server.Admin("INFO", "stats").(string))
	bytes, _ = strconv.Atoi(m[1])
	return commands, bytes
}

// Keeping ten thousand leases costs what keeping one costs: one small script.
// Failure 79.
func TestRenewDoesNotDependOnWhatIsHeld(t *testing.T) {
	server := redistest.Start(t)
	s, sess := ready(t, server, nil, redisstore.Config{})
	_, err := s.Renew(ctx, sess) // sends the source once
	must(t, err)
	cost := func() (map[string]int, int) {
		server.Admin("CONFIG", "RESETSTAT")
		_, before := traffic(server)
		_, err := s.Renew(ctx, sess)
		must(t, err)
		commands, after := traffic(server)
		for _, admin := range []string{"config", "info", "hello", "client"} {
			delete(commands, admin)
		}
		return commands, after - before
	}
	few, fewBytes := cost()
	g, err := s.Acquire(ctx, sess, names(10_000))
	must(t, err)
	if len(g.Leases) != 10_000 {
		t.Fatalf("granted %d", len(g.Leases))
	}
	many, manyBytes := cost()
	if fmt.Sprint(few) != fmt.Sprint(many) {
		t.Errorf("commands with nothing held %v, with 10 000 leases %v", few, many)
	}
	if many["evalsha"] != 1 || many["hset"] != 1 || many["hget"] != 1 {
		t.Errorf("one renewal made the commands %v", many)
	}
	if manyBytes > fewBytes+16 || manyBytes > 1200 {
		t.Errorf("a renewal took %d bytes with nothing held, %d with 10 000 leases", fewBytes, manyBytes)
	}
}

// Every steady call is one script.
func TestOneScriptPerCall(t *testing.T) {
	server := redistest.Start(t)
	link := &redistest.Link{}
	s, sess := ready(t, server, redistest.Client(t, link.Through(server.Options())), redisstore.Config{})
	l := take(t, s, sess, "k")
	self := registry.Self{Instance: instance.Instance{ID: "i"}}
	v, err := s.Heartbeat(ctx, self, time.Minute, 0)
	must(t, err)
	record := []status.Record{{Key: "k", State: status.Active, Token: l.Token}}
	leases := make([]lease.Lease, 1001)
	for i := range leases {
		leases[i] = lease.Lease{Key: names(i + 1)[i], Token: 1}
	}
	whole := tick.Parts{
		Renew: &tick.Renew{Session: sess}, Verify: &tick.Verify{Session: sess, Leases: []lease.Lease{l}},
		Heartbeat: &tick.Heartbeat{Self: self, TTL: time.Minute, Known: v.Generation}, PutStatus: &tick.PutStatus{Owner: "i", TTL: time.Minute},
	}
	for name, c := range map[string]struct {
		call func() error
		want int
	}{
		"renew":         {func() error { return second(s.Renew(ctx, sess)) }, 1},
		"acquire":       {func() error { return second(s.Acquire(ctx, sess, names(500))) }, 1},
		"acquire 501":   {func() error { return second(s.Acquire(ctx, sess, names(501))) }, 2},
		"verify":        {func() error { return second(s.Verify(ctx, sess, []lease.Lease{l})) }, 1},
		"verify 1001":   {func() error { return second(s.Verify(ctx, sess, leases)) }, 3},
		"heartbeat":     {func() error { return second(s.Heartbeat(ctx, self, time.Minute, v.Generation)) }, 1},
		"members":       {func() error { return second(s.Members(ctx)) }, 1},
		"put status":    {func() error { return s.PutStatus(ctx, "i", time.Minute, record) }, 1},
		"extend status": {func() error { return s.PutStatus(ctx, "i", time.Minute, nil) }, 1},
		"tick":          {func() error { return trip(s.Tick(ctx, whole)) }, 1},
		"tick of 1001": {func() error {
			return trip(s.Tick(ctx, tick.Parts{Renew: whole.Renew, Verify: &tick.Verify{Session: sess, Leases: leases}}))
		}, 1},
		"tick of one":  {func() error { return trip(s.Tick(ctx, tick.Parts{Renew: whole.Renew})) }, 1},
		"tick of none": {func() error { return trip(s.Tick(ctx, tick.Parts{})) }, 0},
		"statuses":     {func() error { return second(s.Statuses(ctx, names(500))) }, 1},
		"all statuses": {func() error { return second(s.AllStatuses(ctx)) }, 1},
		"revoke":       {func() error { return s.Revoke(ctx, "free") }, 1},
	} {
		must(t, c.call()) // sends the source once
		before := link.Scripts()
		must(t, c.call())
		if n := link.Scripts() - before; n != c.want {
			t.Errorf("%s took %d scripts, want %d", name, n, c.want)
		}
	}
}

// trip is the first error of a Tick.
func trip(a tick.Answers) error {
	return errors.Join(a.Renew.Err, a.Verify.Err, a.Heartbeat.Err, a.PutStatus)
}

// A server that does not know the scripts, after a restart or SCRIPT FLUSH, costs a trip one more, and loses none of it.
func TestTickSendsTheSourcesOnce(t *testing.T) {
	server := redistest.Start(t)
	link := &redistest.Link{}
	s, sess := ready(t, server, redistest.Client(t, link.Through(server.Options())), redisstore.Config{})
	l := take(t, s, sess, "k")
	p := tick.Parts{
		Renew: &tick.Renew{Session: sess}, Verify: &tick.Verify{Session: sess, Leases: []lease.Lease{l}},
		Heartbeat: &tick.Heartbeat{Self: registry.Self{Instance: instance.Instance{ID: "i"}}, TTL: time.Minute}, PutStatus: &tick.PutStatus{Owner: "i", TTL: time.Minute},
	}
	for range 2 {
		server.Admin("SCRIPT", "FLUSH")
		before := link.Scripts()
		a := s.Tick(ctx, p)
		must(t, trip(a))
		if n := link.Scripts() - before; n != 2 || len(a.Verify.Value.Lost) != 0 || len(a.Heartbeat.Value.Members) != 1 {
			t.Errorf("took %d trips and answered %+v, want 2 trips", n, a)
		}
		must(t, trip(s.Tick(ctx, p)))
		if n := link.Scripts() - before; n != 3 {
			t.Errorf("took %d trips in all, want one more", n)
		}
	}
}

// Long lists are read in pages, and are whole and in order all the same.
func TestListsInPages(t *testing.T) {
	server := redistest.Start(t)
	s, sess := ready(t, server, nil, redisstore.Config{})
	keys := names(3210)
	g, err := s.Acquire(ctx, sess, keys)
	must(t, err)
	records := make([]status.Record, len(keys))
	for i, l := range g.Leases {
		records[i] = status.Record{Key: l.Key, State: status.Active, Token: l.Token, Info: "info " + l.Key}
	}
	must(t, s.PutStatus(ctx, sess.Owner, time.Minute, records))
	held, err := s.Leases(ctx)
	must(t, err)
	live, err := s.AllStatuses(ctx)
	must(t, err)
	if len(held) != len(keys) || len(live) != len(keys) {
		t.Fatalf("%d leases and %d statuses of %d", len(held), len(live), len(keys))
	}
	for i, key := range keys {
		if held[i] != g.Leases[i] || live[i].Key != key || live[i].Info != "info "+key || live[i].Token != g.Leases[i].Token {
			t.Fatalf("at %d: %+v and %+v", i, held[i], live[i])
		}
	}
}

// Only what others can act on is hinted at: never a renewal or a heartbeat.
func TestNoPublishInTheSteadyState(t *testing.T) {
	server := redistest.Start(t)
	s, sess := ready(t, server, nil, redisstore.Config{})
	l := take(t, s, sess, "k")
	self := registry.Self{Instance: instance.Instance{ID: "i"}}
	_, err := s.Heartbeat(ctx, self, time.Minute, 0)
	must(t, err)
	server.Admin("CONFIG", "RESETSTAT")
	for range 3 {
		must(t, second(s.Renew(ctx, sess)))
		must(t, second(s.Verify(ctx, sess, []lease.Lease{l})))
		must(t, second(s.Acquire(ctx, sess, []string{"k", "new"})))
		must(t, second(s.Heartbeat(ctx, self, time.Minute, 0)))
		must(t, s.PutStatus(ctx, "i", time.Minute, []status.Record{{Key: "k", State: status.Active, Token: 1}}))
	}
	if commands, _ := traffic(server); commands["publish"] != 0 {
		t.Errorf("published %d hints", commands["publish"])
	}
}

// No key of ours has a Redis TTL, and the fleet's keys are the documented ones.
// Failure 41.
func TestNoRedisTTLs(t *testing.T) {
	server := redistest.Start(t)
	s, sess := ready(t, server, nil, redisstore.Config{})
	l := take(t, s, sess, "k")
	must(t, s.PutStatus(ctx, "i", time.Minute, []status.Record{{Key: "k", State: status.Active, Token: 1}}))
	must(t, second(s.Heartbeat(ctx, registry.Self{Instance: instance.Instance{ID: "i"}}, time.Minute, 0)))
	must(t, second(s.Verify(ctx, sess, []lease.Lease{l})))
	keys := server.Admin("KEYS", "*").([]any)
	if len(keys) != 8 {
		t.Errorf("the fleet has the keys %v", keys)
	}
	for _, key := range keys {
		if !strings.HasPrefix(key.(string), "{tenure:fleet}:") {
			t.Errorf("the key %v is not under the fleet's tag", key)
		}
		if ttl := server.Admin("PTTL", key); ttl != int64(-1) {
			t.Errorf("the key %v has a TTL: %v", key, ttl)
		}
	}
}

// Two instances that select different databases are two fleets; Check tells who is where.
func TestDatabasesAreSeparateFleets(t *testing.T) {
	server := redistest.Start(t)
	var tokens []lease.Lease
	for db := range 2 {
		o := server.Options()
		o.DB = db
		s, sess := ready(t, server, redistest.Client(t, o), redisstore.Config{})
		tokens = append(tokens, take(t, s, sess, "k"))
		r, err := s.Check(ctx)
		must(t, err)
		if r.Database != db || r.Keys != "{tenure:fleet}:*" || r.Channel != "{tenure:fleet}:hints" || r.Version == "" || r.Mode != "standalone" {
			t.Errorf("Check in database %d says %+v", db, r)
		}
	}
	if len(tokens) != 2 {
		t.Error("both must be granted")
	}
}

// A client that is too old for the fleet's records refuses to work, and changes nothing. Older records are fine.
func TestNewerSchemaVersionIsRefused(t *testing.T) {
	server := redistest.Start(t)
	s, sess := ready(t, server, nil, redisstore.Config{})
	server.Admin("HSET", "{tenure:fleet}:marker", "schema", "0")
	must(t, second(s.Renew(ctx, sess)))
	server.Admin("HSET", "{tenure:fleet}:marker", "schema", "7")
	before := server.Admin("DUMP", "{tenure:fleet}:marker")
	for name, err := range map[string]error{
		"renew":     second(s.Renew(ctx, sess)),
		"acquire":   second(s.Acquire(ctx, sess, []string{"k"})),
		"heartbeat": second(s.Heartbeat(ctx, registry.Self{Instance: instance.Instance{ID: "i"}}, time.Second, 0)),
		"status":    s.PutStatus(ctx, "i", time.Second, nil),
		"provision": s.Provision(ctx),
	} {
		if !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), "version 7") {
			t.Errorf("%s: %v, want ErrInvalid that names the version", name, err)
		}
	}
	if server.Admin("DUMP", "{tenure:fleet}:marker") != before || len(server.Admin("KEYS", "*").([]any)) != 2 {
		t.Error("something was written all the same")
	}
}
