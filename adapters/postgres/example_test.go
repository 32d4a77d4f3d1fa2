package postgresstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// One process wins a key, another is refused until it is let go.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	store, err := postgresstore.Open(os.Getenv("DATABASE_URL"), "example", postgresstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := errors.Join(store.Migrate(ctx), store.Provision(ctx)); err != nil {
		log.Fatal(err)
	}

	one := lease.NewSession(instance.New(), 10*time.Second)
	two := lease.NewSession(instance.New(), 10*time.Second)
	for _, s := range []lease.Session{one, two} {
		if _, err := store.OpenSession(ctx, s); err != nil {
			log.Fatal(err)
		}
	}
	try := func(s lease.Session) lease.Grant {
		g, err := store.Acquire(ctx, s, []string{"nightly-report"})
		if err != nil {
			log.Fatal(err)
		}
		return g
	}
	first := try(one)
	fmt.Println("one granted:", len(first.Leases) == 1)
	fmt.Println("two refused:", try(two).Refused[0].Owner == one.Owner)
	if err := store.Release(ctx, one, first.Leases); err != nil {
		log.Fatal(err)
	}
	second := try(two)
	fmt.Println("two granted, with a higher token:", second.Leases[0].Token > first.Leases[0].Token)
	// Output:
	// one granted: true
	// two refused: true
	// two granted, with a higher token: true
}

// A leader that has lost its lease without noticing cannot commit what it writes.
func ExampleStore_FencedFunc() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	store, err := postgresstore.Open(os.Getenv("DATABASE_URL"), "example-fence", postgresstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := errors.Join(store.Migrate(ctx), store.Provision(ctx)); err != nil {
		log.Fatal(err)
	}
	session := lease.NewSession(instance.New(), 10*time.Second)
	if _, err := store.OpenSession(ctx, session); err != nil {
		log.Fatal(err)
	}
	g, err := store.Acquire(ctx, session, []string{"ledger"})
	if err != nil {
		log.Fatal(err)
	}
	book := func() error {
		return store.FencedFunc(ctx, g.Leases[0], pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT 'the writes of the leader'")
			return err
		})
	}
	fmt.Println("while held:", book())
	if err := store.CloseSession(ctx, session); err != nil {
		log.Fatal(err)
	}
	fmt.Println("afterwards fenced:", errors.Is(book(), postgresstore.ErrFenced))
	// Output:
	// while held: <nil>
	// afterwards fenced: true
}
