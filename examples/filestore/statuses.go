//go:build unix

package filestore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// PutStatus implements status.Store. Records live as long as their owner, which is one number to extend.
func (s *Store) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	return s.update(ctx, status.Check(owner, ttl, records), func(d *data) error {
		d.Lives[owner] = d.after(ttl)
		for _, r := range records {
			r.Owner, r.Since = owner, d.stamp()
			if old, known := d.Statuses[r.Key]; known {
				if old.Token > r.Token || old.Token == r.Token && old.Owner != owner {
					continue // it speaks of an earlier term
				}
				if old.Token == r.Token && old.State == r.State {
					r.Since = old.Since
				}
			}
			d.Statuses[r.Key] = r
		}
		return nil
	})
}

// Statuses implements status.Store.
func (s *Store) Statuses(ctx context.Context, keys []string) (live []status.Record, err error) {
	var invalid error
	for _, key := range keys {
		if invalid == nil {
			invalid = lease.CheckKey(key)
		}
	}
	err = s.update(ctx, invalid, func(d *data) error {
		live = d.records(keys)
		return nil
	})
	return live, err
}

// AllStatuses implements status.Store.
func (s *Store) AllStatuses(ctx context.Context) (live []status.Record, err error) {
	err = s.update(ctx, nil, func(d *data) error {
		live = d.records(slices.Collect(maps.Keys(d.Statuses)))
		return nil
	})
	return live, err
}

func (d *data) records(keys []string) (live []status.Record) {
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		if r, known := d.Statuses[key]; known {
			r.TTLLeft = d.left(d.Lives[r.Owner])
			live = append(live, r)
		}
	}
	return live
}
