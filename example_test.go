package tenure_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/tenure-go/tenure"
	"github.com/tenure-go/tenure/memory"
)

// Many processes call this; the work runs on one of them at a time.
func ExampleSingleton() {
	store, err := memory.New(memory.Config{}) // redisstore or postgresstore in production
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a real program
	err = tenure.Singleton(ctx, store, "nightly-report", func(ctx context.Context, term *tenure.Term) error {
		fmt.Println("leading", term.Key(), "with a token:", term.Token() > 0)
		stop()            // the process is told to stop
		<-term.Draining() // finish what is in flight
		fmt.Println("done")
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// leading nightly-report with a token: true
	// done
	// error: <nil>
}

// Each of many processes runs its share of the workloads. This one is alone and runs them all.
func ExampleShard() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	ctx, stop := context.WithCancel(context.Background())
	feeds := []string{"feed-1", "feed-2", "feed-3"}
	var running sync.WaitGroup
	running.Add(len(feeds))
	go func() { running.Wait(); stop() }()

	err = tenure.Shard(ctx, store, feeds, func(ctx context.Context, term *tenure.Term, feed string) error {
		fmt.Println("importing", feed)
		running.Done()
		select {
		case <-ctx.Done(): // the lease is lost: stop at once
			return ctx.Err()
		case <-term.Draining(): // moved elsewhere, or stopping: finish and return
			return nil
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// importing feed-1
	// importing feed-2
	// importing feed-3
}
