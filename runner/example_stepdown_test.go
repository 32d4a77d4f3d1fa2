package runner_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// A handler asks whether this process leads, without asking the store, and an operator lets somebody else lead.
func ExampleRunner_StepDown() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	leads := make(chan struct{}, 1)
	work := func(_ context.Context, term *runner.Term) error {
		leads <- struct{}{}
		<-term.Draining()
		return nil
	}
	r, err := runner.New(store, instance.New(), runner.Spec{Key: "nightly-report", Work: work}, runner.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	<-leads
	l, held := r.Lease()
	fmt.Println("leads:", held, l.Key)

	if err := r.StepDown(ctx); err != nil { // returns when the key has been let go
		log.Fatal(err)
	}
	_, held = r.Lease()
	fmt.Println("leads:", held)
	stop()
	fmt.Println(<-done)
	// Output:
	// leads: true nightly-report
	// leads: false
	// <nil>
}
