package registry_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
)

// Two instances beat, and one of them is drained. A coordinator does all this by itself.
func Example() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx := context.Background()

	var members registry.Registry = store
	beat := func(id instance.ID, known registry.Generation) registry.View {
		view, err := members.Heartbeat(ctx, registry.Self{Instance: instance.Instance{ID: id}}, 10*time.Second, known)
		if err != nil {
			log.Fatal(err)
		}
		return view
	}
	beat("one", 0)
	view := beat("two", 0)
	fmt.Println(len(view.Members), "members")
	fmt.Println("unchanged:", beat("two", view.Generation).Unchanged)

	if err := members.BeginDrain(ctx, "one"); err != nil {
		log.Fatal(err)
	}
	view = beat("two", view.Generation)
	fmt.Println(len(view.Members), "members, to be given work:", len(view.Active()))
	// Output:
	// 2 members
	// unchanged: true
	// 2 members, to be given work: 1
}
