package memory

import (
	"context"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// member is one instance; TTLLeft is filled when it is read.
type member struct {
	registry.Member
	expires time.Time
}

// Heartbeat implements registry.Registry.
func (s *Store) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (v registry.View, err error) {
	if err := registry.Check(self, ttl); err != nil {
		return v, err
	}
	err = s.do(ctx, "heartbeat", func(now time.Time) error {
		s.bury(now)
		id := self.Instance.ID
		was, live := s.members[id]
		is := was
		switch {
		case live: // the join time is written once
		case self.JoinedAt.IsZero():
			is.JoinedAt = stamp(now)
		default:
			is.JoinedAt = stamp(self.JoinedAt) // we forgot it; its age still counts
		}
		if !is.Instance.Equal(self.Instance) {
			is.Instance = self.Instance.Clone()
		}
		is.Draining = was.Draining || self.Draining
		is.Leaving = self.Leaving
		is.expires = now.Add(ttl)
		s.members[id] = is
		s.announce(was, is, now)
		v = s.view(now, id, known)
		return nil
	})
	return v, err
}

// announce moves the generation, and hints, where others have something to see: never for a
// mere heartbeat.
func (f *fleet) announce(was, is member, now time.Time) {
	if was.ID == is.ID && was.Instance.Equal(is.Instance) && was.Draining == is.Draining && was.Leaving == is.Leaving {
		return
	}
	f.turn(now)
	change := lease.Change{Instance: string(is.ID)}
	switch {
	case was.ID == "":
		change.Kind = lease.ChangeJoined
	case is.Draining && !was.Draining:
		change.Kind = lease.ChangeDraining
	case is.Leaving && !was.Leaving:
		change.Kind = lease.ChangeLeft
	default:
		return // a new description can wait for the next heartbeat
	}
	f.hint(change)
}

// turn begins a generation. Like tokens they count by the clock, so that a fleet whose data was
// lost never answers "unchanged" to a generation of its former life.
func (f *fleet) turn(now time.Time) {
	f.generation = max(f.generation+1, registry.Generation(micros(now)))
}

// bury removes members whose life has ended, and with them their drain marks.
func (f *fleet) bury(now time.Time) {
	for id, m := range f.members {
		if !now.Before(m.expires) {
			delete(f.members, id)
			f.turn(now)
		}
	}
}

// Members implements registry.Registry.
func (s *Store) Members(ctx context.Context) (v registry.View, err error) {
	err = s.do(ctx, "list members", func(now time.Time) error {
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
		if id != self && (v.NextExpiry == 0 || m.TTLLeft < v.NextExpiry) {
			v.NextExpiry = m.TTLLeft
		}
		if id == self || !v.Unchanged {
			m.Instance = m.Instance.Clone()
		}
		if id == self {
			v.Self = m.Member
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
	if err := id.Check(); err != nil {
		return err
	}
	return s.do(ctx, "begin drain", func(now time.Time) error {
		s.bury(now)
		if was, live := s.members[id]; live {
			is := was
			is.Draining = true
			s.members[id] = is
			s.announce(was, is, now)
		}
		return nil
	})
}

// Leave implements registry.Registry.
func (s *Store) Leave(ctx context.Context, id instance.ID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return s.do(ctx, "leave", func(now time.Time) error {
		s.bury(now)
		if _, live := s.members[id]; live {
			delete(s.members, id)
			s.turn(now)
			s.hint(lease.Change{Kind: lease.ChangeLeft, Instance: string(id)})
		}
		return nil
	})
}
