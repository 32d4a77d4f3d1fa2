package redisstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// Two instances want one key. The engines (package runner, package coordinator) make these calls; here
// they are made by hand, against a server inside the process.
func Example() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	defer client.Close()

	store, err := redisstore.New(client, redisstore.Config{Fleet: "billing"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	// Done once by whoever sets the fleet up, not by its processes: a new fleet needs no freeze.
	if err := store.Provision(ctx); err != nil {
		fmt.Println(err)
		return
	}

	one := lease.NewSession("one", 10*time.Second)
	two := lease.NewSession("two", 10*time.Second)
	for _, s := range []lease.Session{one, two} {
		if _, err := store.OpenSession(ctx, s); err != nil {
			fmt.Println(err)
			return
		}
	}
	first, err := store.Acquire(ctx, one, []string{"nightly-report"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("granted to", first.Leases[0].Owner)
	second, err := store.Acquire(ctx, two, []string{"nightly-report"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("held by", second.Refused[0].Owner)
	if err := store.Release(ctx, one, first.Leases); err != nil {
		fmt.Println(err)
		return
	}
	second, err = store.Acquire(ctx, two, []string{"nightly-report"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("granted to", second.Leases[0].Owner, "with a higher token:", second.Leases[0].Token > first.Leases[0].Token)
	// Output:
	// granted to one
	// held by one
	// granted to two with a higher token: true
}

// Check says at start-up what the server's settings mean for the fleet.
func ExampleStore_Check() {
	server := miniredis.NewMiniRedis() // which does not answer INFO as a real server does
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: time.Second})
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Config{Fleet: "billing"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	report, err := store.Check(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("keys", report.Keys, "channel", report.Channel)
	for _, f := range report.Findings {
		fmt.Println(f.Setting, f.Value+":", f.Remedy)
	}
	// Output:
	// keys {tenure:billing}:* channel {tenure:billing}:hints
	// INFO not allowed: allow this user the command INFO
}

// One store serves the keeper of leases, the registry and the statuses.
func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true,
	})
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Config{Fleet: "billing"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	keeper, err := lease.NewKeeper(store, instance.New(), lease.KeeperConfig{})
	fmt.Println(keeper != nil, err)
	// Output: true <nil>
}

// A script of one's own whose writes only the present owner can make. Leases may be in any store.
func ExampleFenced() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	publish := redisstore.NewFenced(`return redis.call('SET', KEYS[1], ARGV[1])`) // the script as it was before
	write := func(l lease.Lease, text string) {
		_, err := publish.Run(context.Background(), client, "{report}:fence", l, []string{"{report}:text"}, text)
		fmt.Println(text+":", err)
	}
	former := lease.Lease{Key: "nightly-report", Token: 41} // term.Lease() in a worker
	present := lease.Lease{Key: "nightly-report", Token: 42}
	write(former, "draft")
	write(present, "final")
	write(former, "late draft") // it was suspended, and does not know
	fmt.Println("stored:", client.Get(context.Background(), "{report}:text").Val())
	// Output:
	// draft: <nil>
	// final: <nil>
	// late draft: redisstore: write fenced: a newer owner has written: fence "{report}:fence", lease "nightly-report" token 41, 42 was seen
	// stored: final
}
