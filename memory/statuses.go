package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// PutStatus implements status.Store. Records have no expiry of their own: they live as long as
// their owner's life, which is one write to extend.
func (s *Store) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	if err := status.Check(owner, ttl, records); err != nil {
		return err
	}
	return s.do(ctx, "put status", func(now time.Time) error {
		if ends, known := s.lives[owner]; known && !now.Before(ends) {
			// What expired must not come back with its owner.
			maps.DeleteFunc(s.statuses, func(_ string, r status.Record) bool { return r.Owner == owner })
		}
		s.lives[owner] = now.Add(ttl)
		for _, r := range records {
			s.put(owner, r, now)
		}
		return nil
	})
}

// put writes one record unless a live one is of a later term, or of another owner's equal term.
func (f *fleet) put(owner instance.ID, r status.Record, now time.Time) {
	r.Owner, r.Since = owner, stamp(now)
	if old, known := f.statuses[r.Key]; known && now.Before(f.lives[old.Owner]) {
		if old.Token > r.Token || old.Token == r.Token && old.Owner != owner {
			return
		}
		if old.Token == r.Token && old.State == r.State {
			r.Since = old.Since
		}
	}
	f.statuses[r.Key] = r
}

// Statuses implements status.Store.
func (s *Store) Statuses(ctx context.Context, keys []string) (live []status.Record, err error) {
	for _, key := range keys {
		if err := lease.CheckKey(key); err != nil {
			return nil, err
		}
	}
	return s.readStatuses(ctx, func() []string { return keys })
}

// AllStatuses implements status.Store.
func (s *Store) AllStatuses(ctx context.Context) ([]status.Record, error) {
	return s.readStatuses(ctx, func() []string { return slices.Collect(maps.Keys(s.statuses)) })
}

func (s *Store) readStatuses(ctx context.Context, keys func() []string) (live []status.Record, err error) {
	err = s.do(ctx, "read statuses", func(now time.Time) error {
		for _, key := range slices.Compact(slices.Sorted(slices.Values(keys()))) {
			r, known := s.statuses[key]
			if r.TTLLeft = s.lives[r.Owner].Sub(now); known && r.TTLLeft > 0 {
				live = append(live, r)
			}
		}
		return nil
	})
	return live, err
}
