package lease_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// locks is the kind of store that PerKey is for: a lock with an owner, a time to live and a token.
type locks struct {
	mu   sync.Mutex
	held map[string]lock
	fail map[string]bool
}

type lock struct {
	owner   string
	token   uint64
	expires time.Time
}

var errDown = errors.New("down")

func (l *locks) TryAcquireOrRenew(_ context.Context, key, owner string, ttl time.Duration) (uint64, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail[key] {
		return 0, false, errDown
	}
	now, have := time.Now(), l.held[key]
	live := now.Before(have.expires)
	if live && have.owner != owner {
		return 0, false, nil
	}
	if !live {
		have.token = max(have.token+1, uint64(now.UnixMicro()))
	}
	l.held[key] = lock{owner, have.token, now.Add(ttl)}
	return have.token, true, nil
}

func (l *locks) Release(_ context.Context, key, owner string, token uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have := l.held[key]; have.owner == owner && have.token == token {
		have.expires = time.Time{}
		l.held[key] = have
	}
	return nil
}

// Failure 31.
func TestPerKeyKeepsHandsOverAndFailsOver(t *testing.T) {
	bubble(t, func(t *testing.T, _ *memory.Store) {
		l := &locks{held: map[string]lock{}, fail: map[string]bool{}}
		a, b := start(t, lease.PerKey(l), lease.KeeperConfig{}), start(t, lease.PerKey(l), lease.KeeperConfig{})
		ua := a.claim("job", &user{})
		after(time.Millisecond)
		ub := b.claim("job", &user{})
		after(time.Minute)
		if ua.hold() == nil || !ua.hold().Valid() || ub.hold() != nil {
			t.Fatal("not kept by the first alone")
		}
		first := ua.hold().Lease().Token
		ua.hold().Release()
		after(3 * time.Second)
		if ub.hold() == nil || ub.hold().Lease().Token <= first {
			t.Fatal("not handed over")
		}
		ua.claim.Contend()
		l.mu.Lock()
		l.held["job"] = lock{owner: "somebody", token: ub.hold().Lease().Token + 1, expires: time.Now().Add(time.Hour)}
		l.mu.Unlock()
		after(3 * time.Second)
		if lost := ub.losses(); len(lost) != 1 || lost[0].Reason != lease.ReasonTaken {
			t.Errorf("losses: %v", lost)
		}
		a.end()
		b.end()
	})
}

// One lock that cannot be renewed ends at its own deadline; the others go on.
func TestPerKeyUnknownRenewalKeepsOnlyItsOwnDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, _ *memory.Store) {
		l := &locks{held: map[string]lock{}, fail: map[string]bool{}}
		r := start(t, lease.PerKey(l), lease.KeeperConfig{})
		bad, good := r.claim("bad", &user{}), r.claim("good", &user{})
		after(time.Second)
		l.mu.Lock()
		l.fail["bad"] = true
		l.mu.Unlock()
		after(12 * time.Second)
		if bad.hold().Valid() || len(bad.losses()) != 1 {
			t.Error("a lock that could not be renewed for longer than its TTL is still trusted")
		}
		if !good.hold().Valid() {
			t.Error("its neighbour was lost with it")
		}
		r.end()
	})
}
