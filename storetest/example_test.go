package storetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/storetest"
)

// A store's own test calls Run once. This one lives in memory, so it runs in virtual time, and it
// says how to make it lose its data, which adds the checks of that.
func ExampleRun() {
	TestConformance := func(t *testing.T) {
		storetest.Run(t, storetest.Config{
			Open: func(t *testing.T) (a, b storetest.Store) {
				s, err := memory.New(memory.Config{MaxTTL: 20 * time.Second, Incarnations: true})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				return s, s.Handle()
			},
			MaxTTL: 20 * time.Second,
			Bubble: synctest.Test,
			Faults: storetest.Faults{
				Wipe: func(_ *testing.T, s storetest.Store) { s.(*memory.Store).Restore(nil) },
			},
		})
	}
	_ = TestConformance // go test finds and runs it
	// Output:
}
