package tenuretest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/tenuretest"
)

// mailer is the job under test: it sends one letter a minute, and says goodbye when it is drained.
func mailer(ctx context.Context, term *runner.Term) error {
	for letter := 1; ; letter++ {
		select {
		case <-term.Draining():
			fmt.Println("goodbye")
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Minute):
			fmt.Println("letter", letter)
		}
	}
}

// A job is drained, and then loses a term. In a test file the body of each inTest is that of
//
//	func TestMailer(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) { ... })
//	}
func ExampleStart() {
	inTest(func(t *testing.T) {
		job := tenuretest.Start(t, mailer, tenuretest.JobConfig{})
		time.Sleep(150 * time.Second)
		job.Drain()
		if err := job.Wait(); err != nil {
			t.Errorf("a drained mailer returned %v", err)
		}

		next := job.Next() // another process takes over
		fmt.Println("higher token:", next.Term().Token() > job.Term().Token())
		next.Lose()
		fmt.Println("lost:", errors.Is(next.Wait(), lease.ErrLost))
	})
	// Output:
	// letter 1
	// letter 2
	// goodbye
	// higher token: true
	// lost: true
}

// archive is what the job writes to. It remembers the highest token, and refuses a lower one.
type archive struct {
	mu      sync.Mutex
	highest uint64
}

func (a *archive) write(token uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if token < a.highest {
		return errors.New("refused: stale token")
	}
	a.highest = token
	return nil
}

// A process that does not notice that its term is over goes on beside its successor. Its writes must
// do no harm.
func ExampleJob_Next() {
	inTest(func(t *testing.T) {
		var books archive
		asleep, wake := make(chan struct{}, 1), make(chan struct{})
		asleep <- struct{}{}
		sleepy := func(_ context.Context, term *runner.Term) error {
			select {
			case <-asleep: // the first process sleeps through the end of its term
				<-wake
			default:
			}
			return books.write(term.Token())
		}
		first := tenuretest.Start(t, sleepy, tenuretest.JobConfig{})
		first.Lose()
		second := first.Next()
		fmt.Println("second:", second.Wait())
		close(wake)
		fmt.Println("first:", first.Wait())
	})
	// Output:
	// second: <nil>
	// first: refused: stale token
}

// A store that does not answer for a while costs nothing, and costs the term when it lasts too long.
func ExampleFaulty() {
	inTest(func(t *testing.T) {
		inner, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		store, faults := tenuretest.Faulty(t, inner)
		work := func(ctx context.Context, _ *runner.Term) error {
			fmt.Println("begins")
			<-ctx.Done()
			fmt.Println("ends:", errors.Is(context.Cause(ctx), lease.ErrLost))
			return nil
		}
		r, err := runner.New(store, instance.New(), runner.Spec{Key: "job", Work: work}, runner.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(time.Minute)

		// Three renewals in a row are done, but their answers are lost.
		faults.Inject(tenuretest.Fault{Kind: tenuretest.HalfDone, On: []tenuretest.Op{tenuretest.OpRenew}, Times: 3})
		time.Sleep(time.Minute)
		fmt.Println("held:", r.Held())

		faults.Inject(tenuretest.Fault{Kind: tenuretest.Hang, For: time.Minute})
		time.Sleep(30 * time.Second)
		fmt.Println("held:", r.Held())
		time.Sleep(time.Minute)
		fmt.Println("held:", r.Held())
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	// Output:
	// begins
	// held: true
	// ends: true
	// held: false
	// begins
	// held: true
	// ends: false
}

// Three instances share the work; one crashes, and the others take over.
func ExampleNewFleet() {
	inTest(func(t *testing.T) {
		catalogue := []coordinator.Workload[string]{
			{Key: "tenant/north", Value: "orders of the north"},
			{Key: "tenant/south", Value: "orders of the south"},
			{Key: "tenant/west", Value: "orders of the west"},
		}
		// The job under test. The fleet fails the test where two of one key run at once.
		export := func(ctx context.Context, term *runner.Term, table string) error {
			select {
			case <-term.Draining():
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		fleet := tenuretest.NewFleet(t, catalogue, export, tenuretest.FleetConfig{})
		fleet.Start("a", "b", "c")
		fleet.Settled()
		fmt.Println(len(fleet.Running("a")), len(fleet.Running("b")), len(fleet.Running("c")))

		first := fleet.OwnerOf("tenant/north")
		fleet.Kill(first)
		fmt.Printf("just after the crash: %q\n", fleet.OwnerOf("tenant/north"))
		fleet.Settled()
		second := fleet.OwnerOf("tenant/north")
		fmt.Println("someone else:", second != first && second != "")
	})
	// Output:
	// 1 1 1
	// just after the crash: ""
	// someone else: true
}

// A paused process does not know that its term is over. Its successor's tokens are higher.
func ExampleFleet_Pause() {
	inTest(func(t *testing.T) {
		var books archive
		work := func(ctx context.Context, term *runner.Term, _ string) error {
			for {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(time.Second):
					if err := books.write(term.Token()); err != nil {
						fmt.Println(err, "- valid:", term.Valid())
						return err
					}
				}
			}
		}
		fleet := tenuretest.NewFleet(t, []coordinator.Workload[string]{{Key: "books"}}, work, tenuretest.FleetConfig{})
		fleet.Start("a", "b")
		fleet.Settled()
		fleet.Pause("a")
		fleet.Settled()
		time.Sleep(time.Minute)
		fmt.Println("owner:", fleet.OwnerOf("books"))
		fleet.Resume("a")
	})
	// Output:
	// refused: stale token - valid: false
	// owner: b
}
