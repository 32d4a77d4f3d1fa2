package storetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/long"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/storetest"
)

func openMemory(maxTTL time.Duration) func(t *testing.T) (a, b storetest.Store) {
	return func(t *testing.T) (a, b storetest.Store) {
		s, err := memory.New(memory.Config{MaxTTL: maxTTL, Incarnations: true})
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Handle()
	}
}

// restart is what the memory store can suffer: its server comes back empty, with old data, or as it was.
func memoryFaults() storetest.Faults {
	return storetest.Faults{
		Wipe: func(_ *testing.T, s storetest.Store) { s.(*memory.Store).Restore(nil) },
		Snapshot: func(_ *testing.T, s storetest.Store) func() {
			snap := s.(*memory.Store).Snapshot()
			return func() { s.(*memory.Store).Restore(snap) }
		},
	}
}

func TestMemory(t *testing.T) {
	storetest.Run(t, storetest.Config{
		Open:   openMemory(20 * time.Second),
		MaxTTL: 20 * time.Second,
		Bubble: synctest.Test,
		Faults: memoryFaults(),
	})
}

// TestMemoryInRealTime proves that the suite also works where time cannot be made virtual.
func TestMemoryInRealTime(t *testing.T) {
	if !long.Tests() {
		t.Skip("waits for ten seconds: set TENURE_LONG=1")
	}
	storetest.Run(t, storetest.Config{
		Open:   openMemory(5 * time.Second),
		MaxTTL: 5 * time.Second,
		Faults: memoryFaults(),
	})
}
