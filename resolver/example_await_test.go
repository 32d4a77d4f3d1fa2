package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/resolver"
	"github.com/tenure-go/tenure/status"
)

// A workload that is moving has no owner for a moment. Who would rather wait than be refused, awaits the next one.
func ExampleResolver_Await() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	owners, err := resolver.New(store, resolver.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = owners.Resolve(ctx, "tenant-17")
	fmt.Println("no owner:", errors.Is(err, resolver.ErrNoOwner))

	go func() { // what a coordinator elsewhere does when it is granted the key
		self := registry.Self{Instance: instance.Instance{ID: "pod-2", Address: "http://10.0.3.17:8080"}}
		if _, err := store.Heartbeat(ctx, self, time.Minute, 0); err != nil {
			log.Print(err)
		}
		if err := store.PutStatus(ctx, "pod-2", time.Minute, []status.Record{{Key: "tenant-17", State: status.Active, Token: 42}}); err != nil {
			log.Print(err)
		}
	}()
	owner, err := owners.Await(ctx, "tenant-17")
	fmt.Println(owner.Instance.Address, owner.Token, err)
	// Output:
	// no owner: true
	// http://10.0.3.17:8080 42 <nil>
}
