package runner_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// A singleton job: whichever process of the fleet holds the key runs it.
func ExampleRunner() {
	store, err := memory.New(memory.Config{}) // a Redis or Postgres store in a real fleet
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	job := func(ctx context.Context, term *runner.Term) error {
		fmt.Println("running", term.Key())
		stop() // a signal would do this
		<-term.Draining()
		fmt.Println("winding down:", ctx.Err() == nil)
		return nil
	}
	r, err := runner.New(store, instance.Process(), runner.Spec{Key: "nightly-report", Work: job}, runner.Config{})
	if err != nil {
		panic(err)
	}
	fmt.Println("Run:", r.Run(ctx))
	// Output:
	// running nightly-report
	// winding down: true
	// Run: <nil>
}

// ledger is something outside that must not be written by an earlier owner: it remembers the
// highest token and refuses lower ones.
type ledger struct{ highest uint64 }

func (l *ledger) write(token uint64, what string) error {
	if token < l.highest {
		return fmt.Errorf("%q refused: token %d is older than %d", what, token, l.highest)
	}
	l.highest = token
	fmt.Println("written:", what)
	return nil
}

// The fencing token makes a write by a process that lost its lease without noticing harmless.
func ExampleTerm_Token() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		panic(err)
	}
	var books ledger
	var tokens []uint64
	work := func(_ context.Context, term *runner.Term) error {
		tokens = append(tokens, term.Token())
		return books.write(term.Token(), fmt.Sprintf("entry of term %d", len(tokens)))
	}
	for range 2 { // two processes, one after the other
		r, err := runner.New(store, instance.New(), runner.Spec{Key: "books", Work: work}, runner.Config{})
		if err != nil {
			panic(err)
		}
		if err := r.Run(context.Background()); err != nil { // the work returns nil: finished
			panic(err)
		}
	}
	if err := books.write(tokens[0], "late entry of term 1"); err != nil {
		fmt.Println("a late write of the first owner is refused")
	}
	// Output:
	// written: entry of term 1
	// written: entry of term 2
	// a late write of the first owner is refused
}

// A drain before a shutdown: nothing new is taken, what is in flight is finished.
func ExampleRunner_BeginDrain() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		panic(err)
	}
	started := make(chan struct{})
	work := func(ctx context.Context, term *runner.Term) error {
		close(started)
		for item := 1; ; item++ {
			select {
			case <-term.Draining():
				fmt.Println("the last item is done")
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Millisecond): // an item
			}
		}
	}
	r, err := runner.New(store, instance.Process(), runner.Spec{Key: "consumer", Work: work}, runner.Config{})
	if err != nil {
		panic(err)
	}
	d, err := drain.New(drain.Config{}, r) // its Handler serves a preStop hook
	if err != nil {
		panic(err)
	}
	done := make(chan error)
	go func() { done <- r.Run(context.Background()) }()
	<-started
	fmt.Println("drain:", d.Drain(context.Background()))
	fmt.Println("Run:", <-done)
	// Output:
	// the last item is done
	// drain: <nil>
	// Run: <nil>
}

// Many workloads over one session: one renewal keeps them all.
func ExampleSet() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		panic(err)
	}
	set, err := runner.NewSet(store, instance.Process(), runner.Config{
		Timing: lease.Timing{LeaseTTL: 5 * time.Second, DrainTimeout: time.Minute},
		Status: store,
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- set.Run(ctx) }()
	for _, tenant := range []string{"north", "south"} {
		err := set.Start(runner.Spec{Key: "tenant/" + tenant, Work: func(_ context.Context, term *runner.Term) error {
			<-term.Draining()
			return nil
		}})
		if err != nil {
			panic(err)
		}
	}
	for len(set.Running()) < 2 {
		<-set.Changed()
	}
	fmt.Println(set.Running())
	set.Stop("tenant/north")
	for len(set.Keys()) > 1 {
		<-set.Changed()
	}
	fmt.Println(set.Running())
	stop()
	fmt.Println("Run:", <-done)
	// Output:
	// [tenant/north tenant/south]
	// [tenant/south]
	// Run: <nil>
}

// stateLog prints each change of state: metrics are made in the same way.
type stateLog struct{}

func (stateLog) ObserveState(e runner.StateEvent) { fmt.Printf("%s: %s\n", e.Key, e.To) }
func (stateLog) ObserveWork(e runner.WorkEvent)   { fmt.Printf("%s: %s, %v\n", e.Key, e.End, e.Err) }

// Observers hear of what happens; each implements the interfaces that it cares for.
func ExampleStateObserver() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		panic(err)
	}
	work := func(context.Context, *runner.Term) error { return fmt.Errorf("disk full") }
	r, err := runner.New(store, instance.Process(), runner.Spec{Key: "job", Work: work}, runner.Config{
		Restart: runner.Never, Observers: []any{stateLog{}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("Run:", r.Run(context.Background()))
	// Output:
	// job: standby
	// job: active
	// job: draining
	// job: failed, disk full
	// job: stopped
	// Run: disk full
}
