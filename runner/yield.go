package runner

import (
	"context"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// After a step-down the key is left alone until somebody else holds it. To see that without
// contending, the set asks the status store, or else a lease store that lists its leases, once per
// renew interval; without either, the wait is one LeaseTTL.

// held is a key that another instance was seen to hold.
type held struct {
	owner instance.ID
	token uint64
}

// watches reports whether there is a way to see other holders.
func (s *Set) watches() bool {
	_, lists := s.manager.(lease.Lister)
	return lists || s.cfg.Status != nil
}

// lookAgain returns when look has something to do, at the latest at most. The mutex is held.
func (s *Set) lookAgain(most time.Duration) time.Duration {
	if len(s.yielding) == 0 || s.looking || !s.watches() {
		return most
	}
	return min(most, s.lookAt)
}

// look asks who holds the keys that were stepped down from. The mutex is held.
func (s *Set) look(now time.Duration) {
	if s.lookAgain(now+1) > now {
		return
	}
	keys := map[string]bool{}
	for w := range s.yielding {
		if w.yieldUntil <= now || w.run.Load() != nil {
			delete(s.yielding, w)
		} else {
			keys[w.spec.Key] = true
		}
	}
	if len(keys) == 0 {
		return
	}
	s.looking = true
	s.lookAt = now + s.later(s.timing.RenewInterval)
	ctx := s.callCtx
	s.calls.Go(func() {
		seen, _ := call.Do(ctx, &s.gate, "look for holders", s.timing.CallTimeout, func(ctx context.Context) (map[string]held, error) {
			return s.holders(ctx, keys)
		})
		s.post(func() { s.saw(seen) })
	})
}

// holders asks the store. An error reads as nobody seen: the wait has its own end.
func (s *Set) holders(ctx context.Context, keys map[string]bool) (map[string]held, error) {
	seen := map[string]held{}
	if s.cfg.Status != nil {
		records, err := s.cfg.Status.Statuses(ctx, sortedKeys(keys))
		for _, r := range records {
			if r.State == status.Active {
				seen[r.Key] = held{r.Owner, r.Token}
			}
		}
		return seen, err
	}
	leases, err := s.manager.(lease.Lister).Leases(ctx)
	for _, l := range leases {
		if keys[l.Key] {
			seen[l.Key] = held{l.Owner, l.Token}
		}
	}
	return seen, err
}

// saw contends again for the keys that somebody else holds now: whoever it is has had the turn. The
// mutex is held.
func (s *Set) saw(seen map[string]held) {
	s.looking = false
	for w := range s.yielding {
		h, ok := seen[w.spec.Key]
		if !ok || h.owner == s.owner || h.token <= w.token {
			continue
		}
		delete(s.yielding, w)
		w.yieldUntil = 0
		w.holder.Store(&h.owner)
		if w.run.Load() == nil && !w.finished {
			w.claim.ContendAfter(max(w.retryAt-s.line.Now(), 0))
		}
	}
}
