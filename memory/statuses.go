package memory

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/status"
)

// PutStatus implements status.Store. Records have no expiry of their own: they live as long as
// their owner's life, which is one write to extend.
func (s *Store) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	return s.do(ctx, "put status", status.Check(owner, ttl, records), func(now time.Time) error {
		if ends, known := s.lives[owner]; known && !now.Before(ends) { // what expired must not come back with its owner
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
	if old := f.statuses[r.Key]; now.Before(f.lives[old.Owner]) {
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
	err = s.do(ctx, "read statuses", checkKeys(keys), func(now time.Time) error {
		live = s.read(slices.Values(keys), now)
		return nil
	})
	return live, err
}

// AllStatuses implements status.Store.
func (s *Store) AllStatuses(ctx context.Context) (live []status.Record, err error) {
	err = s.do(ctx, "read statuses", nil, func(now time.Time) error {
		live = s.read(maps.Keys(s.statuses), now)
		return nil
	})
	return live, err
}

func (f *fleet) read(keys iter.Seq[string], now time.Time) (live []status.Record) {
	for _, key := range unique(keys) {
		r := f.statuses[key]
		if r.TTLLeft = f.lives[r.Owner].Sub(now); r.TTLLeft > 0 {
			live = append(live, r)
		}
	}
	return live
}
