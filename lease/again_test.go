package lease_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// tapped remembers the Verify that lists a key, and counts the Releases that do.
type tapped struct {
	lease.Manager
	key      string
	s        lease.Session
	l        []lease.Lease
	released atomic.Int64
}

func (m *tapped) Release(ctx context.Context, s lease.Session, ls []lease.Lease) error {
	for _, l := range ls {
		if l.Key == m.key {
			m.released.Add(1)
		}
	}
	return m.Manager.Release(ctx, s, ls)
}

func (m *tapped) Verify(ctx context.Context, s lease.Session, ls []lease.Lease) (lease.Verification, error) {
	for _, l := range ls {
		if l.Key == m.key {
			m.s, m.l = s, ls
		}
	}
	return m.Manager.Verify(ctx, s, ls)
}

// A Verify is carried out late: after the lease was let go, and after the store has lost all memory of that. While
// the store is frozen it writes the lease again, in a session that lives on. The keeper must give it back.
func TestVerifyThatIsCarriedOutLateLeavesNoLeaseBehind(t *testing.T) {
	for name, restore := range map[string]bool{"wiped": false, "restored": true} {
		t.Run(name, func(t *testing.T) {
			guarded(t, func(t *testing.T, s *memory.Store) {
				m := &tapped{Manager: s, key: "job"}
				r := start(t, m, lease.KeeperConfig{})
				r.claim("kept", &user{}) // keeps the session alive
				u := r.claim("job", &user{})
				after(5 * time.Second)
				var snapshot *memory.Snapshot
				if restore {
					snapshot = s.Snapshot()
				}
				token := u.hold().Lease().Token
				u.claim.Close()
				after(time.Second)
				s.Restore(snapshot)
				after(3 * time.Second)
				if len(m.l) == 0 {
					t.Fatal("the lease was never verified")
				}
				if v, err := s.Verify(t.Context(), m.s, m.l); err != nil || len(v.Lost) > 0 {
					t.Fatalf("the late Verify wrote nothing: %+v, %v", v, err)
				}
				other := start(t, s, lease.KeeperConfig{})
				next := other.claim("job", &user{})
				after(lease.DefaultMaxTTL + 15*time.Second)
				if h := next.hold(); h == nil {
					t.Error("the key is still held by a session that does not know of it")
				} else if h.Lease().Token <= token {
					t.Errorf("token %d after %d", h.Lease().Token, token)
				}
				r.end()
				other.end()
			})
		})
	}
}

// What is released again after a loss of data is what ended: neither what runs, nor what is lost while its
// worker has not returned.
func TestReleasingAgainTouchesNothingThatRuns(t *testing.T) {
	guarded(t, func(t *testing.T, s *memory.Store) {
		m := &tapped{Manager: s, key: "stuck"}
		r := start(t, m, lease.KeeperConfig{})
		again, gone := r.claim("again", &user{again: true}), r.claim("gone", &user{})
		stuck := r.claim("stuck", &user{keep: true})
		after(time.Second)
		again.hold().Release()
		gone.claim.Close()
		after(time.Second)
		if len(again.holds) != 2 {
			t.Fatalf("%d terms", len(again.holds))
		}
		if err := s.Revoke(t.Context(), "stuck"); err != nil {
			t.Fatal(err)
		}
		after(5 * time.Second)
		if len(stuck.losses()) != 1 {
			t.Fatal("the revocation was not noticed")
		}
		s.Restore(s.Snapshot())
		after(time.Minute)
		if len(again.losses()) > 0 || !again.hold().Valid() {
			t.Errorf("the running term was lost: %v", again.losses())
		}
		if stuck.released > 0 || m.released.Load() > 0 {
			t.Error("released under a worker that has not returned")
		}
		stuck.hold().Release()
		after(5 * time.Second)
		if stuck.released != 1 || m.released.Load() != 1 {
			t.Errorf("released %d times, by %d calls", stuck.released, m.released.Load())
		}
		r.end()
	})
}
