package storetest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/lease"
)

type lockRow struct {
	owner string
	token uint64
	ends  time.Time
}

// locker is the kind of store that lease.PerKey lifts: it knows locks, and neither sessions nor members.
type locker struct {
	mu   sync.Mutex
	rows map[string]lockRow
}

func (l *locker) TryAcquireOrRenew(ctx context.Context, key, owner string, ttl time.Duration) (uint64, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	now := time.Now()
	r := l.rows[key]
	if r.owner != "" && now.Before(r.ends) {
		if r.owner != owner {
			return 0, false, nil
		}
	} else {
		r.owner, r.token = owner, max(r.token+1, uint64(now.UnixMicro()))
	}
	r.ends = now.Add(ttl)
	l.rows[key] = r
	return r.token, true, nil
}

func (l *locker) Release(ctx context.Context, key, owner string, token uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if r := l.rows[key]; r.owner == owner && r.token == token {
		r.owner = ""
		l.rows[key] = r
	}
	return nil
}

// TestLiftedLock runs what is left of the suite for a store without sessions. Such a session is known
// to its process alone, so both handles are one.
func TestLiftedLock(t *testing.T) {
	Run(t, Config{
		Open: func(*testing.T) (Store, Store) {
			m := lease.PerKey(&locker{rows: map[string]lockRow{}})
			return bare{Manager: m}, bare{Manager: m}
		},
		Bubble:  synctest.Test,
		Without: []Capability{Sessions, Registry, Status, Lapses},
	})
}
