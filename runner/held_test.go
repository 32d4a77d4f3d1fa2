package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func TestHeldAreTheValidTermsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		set := mustSet(t, store, "a", Config{Timing: exact})
		mustStart(t, set,
			Spec{Key: "b", Work: untilDrain},
			Spec{Key: "a", Work: untilDrain},
			Spec{Key: "fails", Work: func(context.Context, *Term) error { return errWork }},
			Spec{Key: "ignores", Work: func(ctx context.Context, term *Term) error {
				<-ctx.Done()
				time.Sleep(20 * time.Second)
				return nil
			}},
		)
		if len(set.Held()) != 0 {
			t.Error("held before Run:", set.Held())
		}
		s := begin(t, set.Run)
		held := set.Held()
		equal(t, "held", keysOf(held), []string{"a", "b", "ignores"})
		for _, l := range held {
			if i, _ := set.Lookup(l.Key); i.Token != l.Token || l.Owner != "a" {
				t.Errorf("%+v, %+v", l, i)
			}
		}
		store.Restore(nil) // the store forgets everything
		pass(3 * time.Second)
		if got := set.Held(); len(got) != 2 || got[0].Token <= held[0].Token {
			t.Errorf("after the loss: %v", got) // "ignores" has not returned: its old term is not valid
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if len(set.Held()) != 0 {
			t.Error("held after Run:", set.Held())
		}
	})
}

func TestRunnerLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := New(newStore(t), "a", Spec{Key: "k", Work: untilDrain}, Config{Timing: exact})
		if err != nil {
			t.Fatal(err)
		}
		if l, ok := r.Lease(); ok || l.Key != "" {
			t.Error(l, ok)
		}
		s := begin(t, r.Run)
		if l, ok := r.Lease(); !ok || l.Key != "k" || l.Token != r.Info().Token || !r.Held() {
			t.Error(l, ok)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if _, ok := r.Lease(); ok || r.Held() {
			t.Error("held after Run")
		}
	})
}

func keysOf(leases []lease.Lease) (keys []string) {
	for _, l := range leases {
		keys = append(keys, l.Key)
	}
	return keys
}
