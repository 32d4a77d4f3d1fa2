package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// That targets were written frees no lease: a keeper who waits for one, and one who holds one, ask the
// store nothing on that account. Kinds that a later version may add are no different.
func TestHintsOfOtherThingsAskNothing(t *testing.T) {
	for _, kind := range []lease.ChangeKind{lease.ChangePlanned, lease.ChangeJoined, lease.ChangeLeft, lease.ChangeDraining, "of a later version"} {
		bubble(t, func(t *testing.T, s *memory.Store) {
			a := start(t, s, lease.KeeperConfig{})
			a.claim("job", &user{})
			after(time.Millisecond)
			w := newWire(s)
			calls := map[string]int{}
			w.set(func(_ context.Context, op string, do func() error) error {
				calls[op]++
				return do()
			})
			b := start(t, w, lease.KeeperConfig{})
			b.claim("job", &user{})
			b.claim("own", &user{})
			after(50 * time.Millisecond)
			clear(calls)
			for range 20 {
				b.keeper.Hint(lease.Change{Kind: kind, Key: "job", Instance: "i"})
				after(5 * time.Millisecond)
			}
			if len(calls) > 0 {
				t.Errorf("twenty hints of kind %q made the keeper call %v", kind, calls)
			}
			b.keeper.Hint(lease.Change{Kind: lease.ChangeReleased, Key: "job"})
			after(5 * time.Millisecond)
			if calls["Acquire"] == 0 {
				t.Error("a release did not make it ask either: the test shows nothing")
			}
			a.end()
			b.end()
		})
	}
}
