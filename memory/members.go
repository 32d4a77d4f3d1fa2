package memory

import (
	"context"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// member is one instance; its TTLLeft is filled when it is read.
type member struct {
	registry.Member
	expires time.Time
}

// Heartbeat implements registry.Registry.
func (s *Store) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (v registry.View, err error) {
	err = s.do(ctx, "heartbeat", registry.Check(self, ttl), func(now time.Time) error {
		s.bury(now)
		id := self.Instance.ID
		was, live := s.members[id]
		is := was
		if !live { // joined; or we forgot it, and what it knows of itself still counts
			is.JoinedAt = stamp(now)
			if !self.JoinedAt.IsZero() {
				is.JoinedAt = stamp(self.JoinedAt)
			}
		}
		if !was.Equal(self.Instance) {
			is.Instance = self.Instance.Clone()
		}
		is.Draining = was.Draining || self.Draining
		is.Leaving = self.Leaving
		is.expires = now.Add(ttl)
		s.members[id] = is
		switch { // what others can see moves the generation; a mere heartbeat is none of it
		case live && is.Draining != was.Draining:
			s.turn(now, lease.ChangeDraining, id)
		case live && is.Leaving && !was.Leaving:
			s.turn(now, lease.ChangeLeft, id)
		case !live, is.Leaving != was.Leaving, !is.Equal(was.Instance):
			s.turn(now, lease.ChangeJoined, id)
		}
		v = s.view(now, id, known)
		return nil
	})
	return v, err
}

// turn begins a generation, and hints at why. Like tokens they count by the clock, so that a fleet
// whose data was lost never answers "unchanged" to a generation of its former life.
func (f *fleet) turn(now time.Time, why lease.ChangeKind, id instance.ID) {
	f.generation = max(f.generation+1, registry.Generation(micros(now)))
	f.hint(lease.Change{Kind: why, Instance: string(id)})
}

// bury removes members whose life has ended, and with them their drain marks.
func (f *fleet) bury(now time.Time) {
	for id, m := range f.members {
		if !now.Before(m.expires) {
			delete(f.members, id)
			f.turn(now, lease.ChangeLeft, id)
		}
	}
}

// Members implements registry.Registry.
func (s *Store) Members(ctx context.Context) (v registry.View, err error) {
	err = s.do(ctx, "list members", nil, func(now time.Time) error {
		s.bury(now)
		v = s.view(now, "", 0)
		return nil
	})
	return v, err
}

// view is the membership as the member self sees it. The copy shares no memory with the store.
func (f *fleet) view(now time.Time, self instance.ID, known registry.Generation) registry.View {
	v := registry.View{Generation: f.generation, Unchanged: known != 0 && known == f.generation}
	for id, m := range f.members {
		m.TTLLeft = m.expires.Sub(now)
		if id == self {
			v.Self = m.Member
			v.Self.Instance = m.Instance.Clone()
		} else if v.NextExpiry == 0 || m.TTLLeft < v.NextExpiry {
			v.NextExpiry = m.TTLLeft
		}
		if !v.Unchanged {
			m.Instance = m.Instance.Clone()
			v.Members = append(v.Members, m.Member)
		}
	}
	registry.Sort(v.Members)
	return v
}

// BeginDrain implements registry.Registry.
func (s *Store) BeginDrain(ctx context.Context, id instance.ID) error {
	return s.do(ctx, "begin drain", id.Check(), func(now time.Time) error {
		s.bury(now)
		if m, live := s.members[id]; live && !m.Draining {
			m.Draining = true
			s.members[id] = m
			s.turn(now, lease.ChangeDraining, id)
		}
		return nil
	})
}

// Leave implements registry.Registry.
func (s *Store) Leave(ctx context.Context, id instance.ID) error {
	return s.do(ctx, "leave", id.Check(), func(now time.Time) error {
		s.bury(now)
		if _, live := s.members[id]; live {
			delete(s.members, id)
			s.turn(now, lease.ChangeLeft, id)
		}
		return nil
	})
}
