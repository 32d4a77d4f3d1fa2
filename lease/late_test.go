package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

var errCut = errors.New("the connection was cut")

// lateCopy cuts the connection of the next Acquire, which the store carries out only when late is
// closed: after its sender has asked again, was answered, and has let go.
func lateCopy(late chan struct{}, done chan lease.Grant, s *memory.Store, copied *bool) func(context.Context, lease.Session, []string) (lease.Grant, error) {
	return func(ctx context.Context, sess lease.Session, keys []string) (lease.Grant, error) {
		if *copied {
			return s.Acquire(ctx, sess, keys)
		}
		*copied = true
		go func() {
			<-late
			g, _ := s.Acquire(context.WithoutCancel(ctx), sess, keys)
			done <- g
		}()
		return lease.Grant{}, errors.Join(lease.ErrUnavailable, errCut)
	}
}

type acquireFunc struct {
	lease.Manager
	acquire func(context.Context, lease.Session, []string) (lease.Grant, error)
}

func (a acquireFunc) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	return a.acquire(ctx, s, keys)
}

// A copy of an Acquire that comes late, when its key was let go, grants a lease that nobody knows
// of, and the session that it hangs off lives on. The keeper must find it and give it back.
// Failure 37.
func TestAcquireThatIsCarriedOutLateLeavesNoLeaseBehind(t *testing.T) {
	for name, end := range map[string]func(u *user){
		"released": func(u *user) { u.hold().Release() },
		"closed":   func(u *user) { u.claim.Close() },
		"paused":   func(u *user) { u.claim.Pause(); u.hold().Release() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *memory.Store) {
				late, done, copied := make(chan struct{}), make(chan lease.Grant, 1), true
				w := newWire(acquireFunc{s, lateCopy(late, done, s, &copied)})
				r := start(t, w, lease.KeeperConfig{})
				r.claim("kept", &user{}) // keeps the session alive
				after(time.Second)
				copied = false
				u := r.claim("job", &user{})
				after(time.Second)
				end(u)
				after(time.Second)
				close(late)
				if g := <-done; len(g.Leases) != 1 {
					t.Fatalf("the late copy was not granted: %+v", g)
				}
				for range 12 { // hints do not hurry it
					r.keeper.Hint(lease.Change{Kind: lease.ChangeReleased, Key: "job"})
					after(time.Second)
				}
				other := start(t, s, lease.KeeperConfig{})
				next := other.claim("job", &user{})
				after(time.Second)
				if next.hold() == nil {
					t.Error("the key is still held by a session that does not know of it")
				}
				if n := w.count("Acquire"); n > 4 { // kept; job twice; job once more
					t.Errorf("%d Acquires", n)
				}
				r.end()
				other.end()
			})
		})
	}
}

// busy is a claimant that takes its time to hear of a grant: the keeper's loop waits for it.
type busy struct {
	user
	until time.Time
}

func (b *busy) Granted(h *lease.Hold) {
	b.user.Granted(h)
	time.Sleep(time.Until(b.until))
}

// The keeper's loop is held up while a deadline passes, and the first thing that it finds then is the answer of a
// renewal: the term is over all the same, though nobody saw its deadline pass.
// Failure 9.
func TestRenewalThatIsAnsweredAfterTheDeadlineRevivesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w := newWire(s)
		r := start(t, w, lease.KeeperConfig{})
		u := r.claim("job", &user{})
		after(time.Second)
		h := u.hold()
		deadline := time.Now().Add(h.Left())
		late := &busy{until: deadline.Add(100 * time.Millisecond)}
		w.set(func(_ context.Context, op string, do func() error) error {
			switch left := time.Until(deadline); {
			case op != "Renew":
				return do()
			case left > 1500*time.Millisecond:
				return errCut
			}
			w.set(nil)
			if _, err := r.keeper.Claim("other", late); err != nil {
				t.Error(err)
			}
			time.Sleep(300 * time.Millisecond)
			return do()
		})
		time.Sleep(time.Until(deadline) + 50*time.Millisecond)
		if h.Err() != nil {
			t.Fatalf("the loop was not held up: %v", h.Err())
		}
		after(100 * time.Millisecond)
		if lost, _ := errors.AsType[*lease.LostError](h.Err()); lost == nil || lost.Reason != lease.ReasonUnreachable {
			t.Errorf("the term goes on: %v", h.Err())
		}
		r.end()
	})
}
