package lease_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// exampleLocks is a lock with an expiry and a token: all that some stores have.
type exampleLocks struct {
	mu  sync.Mutex
	all map[string]exampleLock
}

type exampleLock struct {
	owner   string
	expires time.Time
	token   uint64
}

func (l *exampleLocks) TryAcquireOrRenew(_ context.Context, key, owner string, ttl time.Duration) (uint64, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, k := time.Now(), l.all[key]
	alive := now.Before(k.expires)
	if alive && k.owner != owner {
		return 0, false, nil
	}
	if !alive || k.owner != owner {
		k.token = max(k.token+1, uint64(now.UnixMicro()))
	}
	l.all[key] = exampleLock{owner, now.Add(ttl), k.token}
	return k.token, true, nil
}

func (l *exampleLocks) Release(_ context.Context, key, owner string, token uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.all[key]; k.owner == owner && k.token == token {
		l.all[key] = exampleLock{token: k.token} // the token is not forgotten
	}
	return nil
}

// A plain lock becomes a Manager, at one call per key and interval.
func ExamplePerKey() {
	m := lease.PerKey(&exampleLocks{all: map[string]exampleLock{}})
	ctx := context.Background()
	one, two := lease.NewSession("one", 10*time.Second), lease.NewSession("two", 10*time.Second)
	for _, s := range []lease.Session{one, two} {
		if _, err := m.OpenSession(ctx, s); err != nil {
			log.Fatal(err)
		}
	}
	acquire := func(s lease.Session) lease.Grant {
		g, err := m.Acquire(ctx, s, []string{"nightly-report"})
		if err != nil {
			log.Fatal(err)
		}
		return g
	}
	first := acquire(one)
	fmt.Println(len(first.Leases), "granted,", len(acquire(two).Refused), "refused")
	if err := m.Release(ctx, one, first.Leases); err != nil {
		log.Fatal(err)
	}
	fmt.Println("a higher token:", acquire(two).Leases[0].Token > first.Leases[0].Token)
	// Output:
	// 1 granted, 1 refused
	// a higher token: true
}
