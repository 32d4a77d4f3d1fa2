package memory

import (
	"context"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
)

// backlog is how many hints wait for a slow watcher before they become one ChangeResync.
const backlog = 64

// Watch implements lease.Watcher. It subscribes before the first call of f, so whatever happens
// after that ChangeResync is hinted.
func (s *Store) Watch(ctx context.Context, f func(lease.Change)) error {
	if f == nil {
		return fault.Invalid("Watch function", "nil", "must not be nil; it receives the hints")
	}
	changes := make(chan lease.Change, backlog)
	changes <- lease.Change{Kind: lease.ChangeResync}
	err := s.do(ctx, "watch", nil, func(time.Time) error {
		s.watchers[changes] = struct{}{}
		return nil
	})
	if err != nil {
		return err
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, changes)
	}()
	for {
		select {
		case c := <-changes:
			f(c)
		case <-ctx.Done():
			return fault.Unavailable("memory: watch", ctx.Err())
		case <-s.closed:
			return lease.ErrClosed
		}
	}
}

// hint tells every watcher without waiting for any: one that is too slow to keep up loses its
// backlog and is told to look for itself instead. The mutex is held, so nobody else sends.
func (f *fleet) hint(c lease.Change) {
	for w := range f.watchers {
		select {
		case w <- c:
			continue
		default:
		}
		for len(w) > 0 {
			select {
			case <-w:
			default: // the watcher was faster
			}
		}
		w <- lease.Change{Kind: lease.ChangeResync}
	}
}
