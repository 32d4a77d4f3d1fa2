//go:build unix

package filestore

import (
	"context"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/registry"
)

// Heartbeat implements registry.Registry.
func (s *Store) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (v registry.View, err error) {
	err = s.update(ctx, registry.Check(self, ttl), func(d *data) error {
		was, live := d.Members[self.Instance.ID]
		m := was
		if !live { // joined, or we forgot it: what it knows of itself still counts
			if m.JoinedAt = self.JoinedAt.UTC(); m.JoinedAt.IsZero() {
				m.JoinedAt = d.stamp()
			}
		}
		m.Instance = self.Instance
		m.Draining, m.Leaving = was.Draining || self.Draining, self.Leaving
		if !live || !m.Equal(was.Instance) || m.Draining != was.Draining || m.Leaving != was.Leaving {
			d.turn() // what others can see; a mere heartbeat is none of it
		}
		m.Expires = d.after(ttl)
		d.Members[m.ID] = m
		v = d.view(m.ID, known)
		return nil
	})
	return v, err
}

// Members implements registry.Registry.
func (s *Store) Members(ctx context.Context) (v registry.View, err error) {
	err = s.update(ctx, nil, func(d *data) error {
		v = d.view("", 0)
		return nil
	})
	return v, err
}

// view is the membership as the member self sees it.
func (d *data) view(self instance.ID, known registry.Generation) registry.View {
	v := registry.View{Generation: d.Generation, Unchanged: known != 0 && known == d.Generation}
	for id, m := range d.Members {
		m.TTLLeft = d.left(m.Expires)
		if id == self {
			v.Self = m.Member
		} else if v.NextExpiry == 0 || m.TTLLeft < v.NextExpiry {
			v.NextExpiry = m.TTLLeft
		}
		if !v.Unchanged {
			v.Members = append(v.Members, m.Member)
		}
	}
	registry.Sort(v.Members)
	return v
}

// BeginDrain implements registry.Registry.
func (s *Store) BeginDrain(ctx context.Context, id instance.ID) error {
	return s.update(ctx, id.Check(), func(d *data) error {
		if m, live := d.Members[id]; live && !m.Draining {
			m.Draining = true
			d.Members[id] = m
			d.turn()
		}
		return nil
	})
}

// Leave implements registry.Registry.
func (s *Store) Leave(ctx context.Context, id instance.ID) error {
	return s.update(ctx, id.Check(), func(d *data) error {
		if _, live := d.Members[id]; live {
			delete(d.Members, id)
			d.turn()
		}
		return nil
	})
}
