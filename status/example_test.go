package status_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/status"
)

// A record of a former term never hides its successor's. Runners and coordinators write them by themselves.
func Example() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx := context.Background()

	var states status.Store = store
	for _, put := range []struct {
		owner  instance.ID
		record status.Record
	}{
		{"one", status.Record{Key: "feed-1", State: status.Active, Token: 41}},
		{"two", status.Record{Key: "feed-1", State: status.Active, Token: 42}},
		{"one", status.Record{Key: "feed-1", State: status.Inactive, Token: 41}}, // late: ignored
	} {
		if err := states.PutStatus(ctx, put.owner, 10*time.Second, []status.Record{put.record}); err != nil {
			log.Fatal(err)
		}
	}
	records, err := states.Statuses(ctx, []string{"feed-1", "feed-2"})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range records {
		fmt.Println(r.Key, r.State, "on", r.Owner, "token", r.Token)
	}
	// Output: feed-1 active on two token 42
}
