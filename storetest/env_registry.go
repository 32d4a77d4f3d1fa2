package storetest

import (
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// self returns a fresh instance with a full description.
func (e *env) self() registry.Self {
	id := e.owner()
	return registry.Self{Instance: instance.Instance{ID: id, Zone: "zone-a", Version: "v1", Address: "host:1234", Capacity: 3,
		Labels: map[string]string{"disk": "ssd"}}}
}

// beat sends a heartbeat that asks for everything.
func (e *env) beat(s registry.Registry, self registry.Self, ttl time.Duration) registry.View {
	e.Helper()
	return e.beatKnowing(s, self, ttl, 0)
}

func (e *env) beatKnowing(s registry.Registry, self registry.Self, ttl time.Duration, known registry.Generation) registry.View {
	e.Helper()
	v, err := s.Heartbeat(e.ctx, self, ttl, known)
	e.must(err, "Heartbeat of %q", self.Instance.ID)
	e.that(v.Self.ID == self.Instance.ID, "the view of Heartbeat has Self %q, want %q", v.Self.ID, self.Instance.ID)
	if known == 0 {
		e.that(!v.Unchanged, "Heartbeat with generation 0 answered unchanged, want everything")
		_, ok := v.Find(self.Instance.ID)
		e.that(ok, "the view of a heartbeat lacks the one who beat")
	}
	if v.Unchanged {
		e.that(v.Members == nil, "an unchanged view carries members: %+v", v.Members)
	}
	return v
}

func (e *env) members(s registry.Registry) registry.View {
	e.Helper()
	v, err := s.Members(e.ctx)
	e.must(err, "Members")
	e.that(!v.Unchanged, "Members answered unchanged, want everything")
	return v
}

// member fails the check where the instance is not in the membership.
func (e *env) member(s registry.Registry, id instance.ID) registry.Member {
	e.Helper()
	m, ok := e.members(s).Find(id)
	e.that(ok, "Members lacks %q", id)
	return m
}

// absent fails the check where the instance is in the membership.
func (e *env) absent(s registry.Registry, id instance.ID) {
	e.Helper()
	_, ok := e.members(s).Find(id)
	e.that(!ok, "Members has %q, which is gone", id)
}

func (e *env) put(s status.Store, owner instance.ID, ttl time.Duration, records ...status.Record) {
	e.Helper()
	e.must(s.PutStatus(e.ctx, owner, ttl, records), "PutStatus of %d records by %q", len(records), owner)
}

// status returns the record of the key, if there is one.
func (e *env) status(s status.Store, key string) (status.Record, bool) {
	e.Helper()
	got, err := s.Statuses(e.ctx, []string{key})
	e.must(err, "Statuses of %q", key)
	e.that(len(got) <= 1, "Statuses of one key answered %d records", len(got))
	if len(got) == 0 {
		return status.Record{}, false
	}
	e.that(got[0].Key == key, "Statuses of %q answered the record of %q", key, got[0].Key)
	return got[0], true
}

// present fails the check where the key has no record, or one of another owner or state.
func (e *env) present(s status.Store, want status.Record, owner instance.ID) status.Record {
	e.Helper()
	got, ok := e.status(s, want.Key)
	e.that(ok, "Statuses lacks %q", want.Key)
	e.that(got.Owner == owner && got.State == want.State && got.Token == want.Token && got.Info == want.Info && got.Name == want.Name,
		"the record of %q is %+v, want owner %q and %+v", want.Key, got, owner, want)
	return got
}
