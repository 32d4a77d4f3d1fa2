package memory_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// Two instances want one key. The first gets it; the second gets it once the first lets go.
func Example() {
	ctx := context.Background()
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	a := lease.NewSession("instance a", 10*time.Second)
	b := lease.NewSession("instance b", 10*time.Second)
	for _, s := range []lease.Session{a, b} {
		if _, err := store.OpenSession(ctx, s); err != nil {
			log.Fatal(err)
		}
	}

	first, _ := store.Acquire(ctx, a, []string{"nightly report"})
	fmt.Println("a holds", len(first.Leases), "lease")

	second, _ := store.Acquire(ctx, b, []string{"nightly report"})
	fmt.Println("b is refused; the owner is", second.Refused[0].Owner)

	if err := store.Release(ctx, a, first.Leases); err != nil {
		log.Fatal(err)
	}
	third, _ := store.Acquire(ctx, b, []string{"nightly report"})
	fmt.Println("b has a higher token:", third.Leases[0].Token > first.Leases[0].Token)
	// Output:
	// a holds 1 lease
	// b is refused; the owner is instance a
	// b has a higher token: true
}

// A server loses its data. The holder renews and verifies, and keeps its lease and its token.
func ExampleStore_Restore() {
	ctx := context.Background()
	store, err := memory.New(memory.Config{Incarnations: true})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Provision(ctx); err != nil { // a new fleet: no freeze at its first start
		log.Fatal(err)
	}

	s := lease.NewSession("instance a", 10*time.Second)
	if _, err := store.OpenSession(ctx, s); err != nil {
		log.Fatal(err)
	}
	grant, _ := store.Acquire(ctx, s, []string{"nightly report"})

	store.Restore(nil) // everything is gone

	renewal, _ := store.Renew(ctx, s)
	fmt.Println("frozen:", renewal.Incarnation.FrozenFor > 0)
	check, _ := store.Verify(ctx, s, grant.Leases)
	fmt.Println("lost leases:", len(check.Lost))
	// Output:
	// frozen: true
	// lost leases: 0
}
