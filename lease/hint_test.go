package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// The store refuses the key, its owner lets go and the hint arrives, and only then the refusal does.
func TestHintDuringAnAcquireIsNotForgotten(t *testing.T) {
	for _, hint := range []lease.Change{{Kind: lease.ChangeReleased, Key: "job"}, {Kind: lease.ChangeReleased}} {
		bubble(t, func(t *testing.T, s *memory.Store) {
			a := start(t, s, lease.KeeperConfig{})
			first := a.claim("job", &user{})
			after(time.Millisecond)
			w := newWire(s)
			w.set(func(_ context.Context, op string, do func() error) error {
				err := do()
				if op == "Acquire" {
					time.Sleep(100 * time.Millisecond)
				}
				return err
			})
			b := start(t, w, lease.KeeperConfig{})
			second := b.claim("job", &user{})
			after(50 * time.Millisecond)
			first.hold().Release()
			after(time.Millisecond)
			b.keeper.Hint(hint)
			after(200 * time.Millisecond)
			if second.hold() == nil {
				t.Errorf("the hint %v was forgotten", hint)
			}
			a.end()
			b.end()
		})
	}
}
