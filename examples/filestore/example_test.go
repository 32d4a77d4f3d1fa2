//go:build unix

package filestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tenure-go/tenure"
	"github.com/tenure-go/tenure/examples/filestore"
)

// Of all processes of this machine that do this, one runs the work.
func Example() {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "fleet.json")
	if err := filestore.Create(path); err != nil { // once, by whoever sets the fleet up
		log.Fatal(err)
	}
	store, err := filestore.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	err = tenure.Singleton(ctx, store, "nightly-report", func(ctx context.Context, term *tenure.Term) error {
		fmt.Println("leading", term.Key())
		stop()
		<-term.Draining()
		return nil
	})
	fmt.Println(err)
	// Output:
	// leading nightly-report
	// <nil>
}
