package lease_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// slowLocks delays replies: each call is done at once, and answered after what delay says.
type slowLocks struct {
	*locks
	began time.Time

	turn  sync.Mutex
	delay func(key string) time.Duration
}

func (s *slowLocks) TryAcquireOrRenew(ctx context.Context, key, owner string, ttl time.Duration) (uint64, bool, error) {
	s.turn.Lock()
	d := s.delay(key)
	s.turn.Unlock()
	token, ok, err := s.locks.TryAcquireOrRenew(ctx, key, owner, ttl)
	time.Sleep(d) // virtual
	return token, ok, err
}

func (s *slowLocks) slow(delay func(key string) time.Duration) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.delay = delay
}

func (l *locks) failing(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail[key] = true
}

// trusted fails the test where the hold is valid although its lock has run out.
func trusted(t *testing.T, l *locks, h *lease.Hold, key string) {
	t.Helper()
	for range 400 {
		after(50 * time.Millisecond)
		l.mu.Lock()
		expires := l.held[key].expires
		l.mu.Unlock()
		if h.Valid() && !time.Now().Before(expires) {
			t.Errorf("valid although its lock ran out %v ago", time.Since(expires))
			return
		}
	}
	if h.Valid() {
		t.Error("still valid")
	}
}

// In each case a renewal that did not reach the lock must not extend the term, whichever answer
// comes first. The session is opened at 0 and renewed each 2 s.
func TestPerKeyRenewalExtendsNoLockThatItDidNotReach(t *testing.T) {
	for name, c := range map[string]func(t *testing.T, l *slowLocks, r *rig) *user{
		"taken before the renewal, answered after it": func(_ *testing.T, l *slowLocks, r *rig) *user {
			after(2050 * time.Millisecond)
			first := true
			l.slow(func(key string) time.Duration {
				if key == "job" && first {
					first = false
					return 1970 * time.Millisecond
				}
				return 0
			})
			u := r.claim("job", &user{})
			after(2100 * time.Millisecond)
			l.failing("job")
			return u
		},
		"not renewed while its batch is on its way": func(_ *testing.T, l *slowLocks, r *rig) *user {
			after(2050 * time.Millisecond)
			l.slow(func(key string) time.Duration {
				if key == "slow" && time.Since(l.began) < 4*time.Second {
					l.failing("job")
					return 1970 * time.Millisecond
				}
				return 0
			})
			u := r.claim("job", &user{})
			r.claim("slow", &user{})
			after(2100 * time.Millisecond)
			return u
		},
		"verified before the renewal, answered after it": func(_ *testing.T, l *slowLocks, r *rig) *user {
			u := r.claim("job", &user{})
			after(1900 * time.Millisecond)
			l.slow(func(key string) time.Duration {
				if time.Since(l.began) < 3*time.Second {
					return 2200 * time.Millisecond
				}
				return 0
			})
			go func() { _ = u.hold().Check(context.Background()) }()
			after(time.Millisecond)
			l.slow(func(string) time.Duration { return 0 })
			l.failing("job")
			after(3 * time.Second)
			return u
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *memory.Store) {
				l := &slowLocks{locks: &locks{held: map[string]lock{}, fail: map[string]bool{}}, delay: func(string) time.Duration { return 0 }}
				l.began = time.Now()
				r := start(t, lease.PerKey(l), lease.KeeperConfig{Timing: lease.Timing{CallTimeout: 2500 * time.Millisecond}})
				r.claim("anchor", &user{})
				u := c(t, l, r)
				if h := u.hold(); h != nil {
					trusted(t, l.locks, h, "job")
				}
				r.end()
			})
		})
	}
}
