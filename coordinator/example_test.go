package coordinator_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// tenant is what this program's workloads are about.
type tenant struct{ Region string }

// One instance of a fleet: it runs its share of the tenants, which here is all of them.
func Example() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	catalogue := []coordinator.Workload[tenant]{
		{Key: "sync:acme", Name: "Sync of Acme", Value: tenant{Region: "eu"}},
		{Key: "sync:globex", Name: "Sync of Globex", Value: tenant{Region: "us"}},
	}
	var started sync.WaitGroup
	started.Add(len(catalogue))
	work := func(ctx context.Context, term *runner.Term, t tenant) error {
		fmt.Println(term.Key(), "runs in", t.Region)
		started.Done()
		for {
			select {
			case <-ctx.Done(): // the lease is lost, or the drain took too long
				return ctx.Err()
			case <-term.Draining(): // finish what is in flight, take nothing new
				fmt.Println(term.Key(), "is done")
				return nil
			case <-time.After(time.Second):
				// ... one round of the real work, passing term.Token() along with every write ...
			}
		}
	}
	c, err := coordinator.New(store, catalogue, work, coordinator.Config{})
	if err != nil {
		log.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a real program
	go func() { started.Wait(); stop() }()
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// sync:acme runs in eu
	// sync:globex runs in us
	// sync:acme is done
	// sync:globex is done
}

// A deliberate drain, as a preStop hook would begin it: the workload moves to another instance
// while this one still beats.
func ExampleCoordinator_BeginDrain() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	began := make(chan instance.ID)
	start := func(id instance.ID) *coordinator.Coordinator[string] {
		c, err := coordinator.New(store, []coordinator.Workload[string]{{Key: "report"}},
			func(ctx context.Context, term *runner.Term, _ string) error {
				began <- term.Lease().Owner
				<-term.Draining()
				return nil
			}, coordinator.Config{Instance: instance.Instance{ID: id}})
		if err != nil {
			log.Fatal(err)
		}
		running.Go(func() {
			if err := c.Run(ctx); err != nil {
				log.Print(err)
			}
		})
		return c
	}
	a := start("a")
	fmt.Println("the report runs on", <-began)
	start("b")

	if err := a.BeginDrain(ctx); err != nil {
		fmt.Println("the store will be told with the next heartbeat:", err)
	}
	<-a.Drained()
	fmt.Println("the report runs on", <-began)
	stop()
	running.Wait()
	// Output:
	// the report runs on a
	// the report runs on b
}

// The coordinator is what a drain.Drainer drains.
var _ drain.Subject = (*coordinator.Coordinator[string])(nil)

// The parts of a store may live in different places.
func ExampleSeparate() {
	leases, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	rest, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = coordinator.New(coordinator.Separate{Manager: leases, Registry: rest, Store: rest}, nil,
		func(context.Context, *runner.Term, string) error { return nil }, coordinator.Config{})
	fmt.Println(err)
	// Output: <nil>
}
