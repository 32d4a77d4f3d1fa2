package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/registry"
)

func members() []check {
	reg := []Capability{Registry}
	return []check{
		{id: "I01", name: "heartbeat_is_seen_by_all_and_keeps_the_join_time", run: i01, needs: reg,
			sentence: "Heartbeat upserts the instance; the first one fixes JoinedAt by the store's clock, later ones never move it."},
		{id: "I02", name: "a_silent_instance_leaves_and_joins_anew", run: i02, needs: reg, slow: true,
			sentence: "A member whose life has ended by the store's clock is never in a view; one that expired joins anew."},
		{id: "I05", name: "leaving_takes_effect_at_once", run: i05, needs: reg,
			sentence: "Leave removes the instance, its drain mark and its join time at once; it is idempotent."},
		{id: "I06", name: "members_are_ordered_and_belong_to_the_caller", run: i06, needs: reg,
			sentence: "Members are ordered by join time, then ID; what is returned shares no memory with the store."},
		{id: "I08", name: "descriptions_come_back_as_they_were", run: i08, needs: reg,
			sentence: "Zone, version, address, capacity and labels come back byte for byte, and a new description replaces the old."},
		{id: "I10", name: "many_instances_in_one_view", run: i10, needs: reg,
			sentence: "One call answers the whole membership, however large."},
		{id: "I11", name: "a_forgotten_instance_brings_its_join_time", run: i11, needs: reg,
			sentence: "A store that has forgotten the instance takes over the join time that the heartbeat carries; one that knows it does not."},
		{id: "I13", name: "invalid_heartbeats_are_refused", run: i13, needs: reg,
			sentence: "Arguments are checked before anything is done: a bad heartbeat is refused with ErrInvalid and leaves no trace."},
		{id: "I15", name: "members_tell_how_long_they_still_live", run: i15, needs: reg, slow: true,
			sentence: "TTLLeft is how long a member still lived when the view was read; NextExpiry is the least of the others."},
	}
}

func i01(e *env) {
	self := e.self()
	first := e.beat(e.a, self, e.ages()).Self.JoinedAt
	e.that(!first.IsZero(), "the first heartbeat has no JoinedAt")
	for i := range 10 {
		e.sleep(e.unit / 20)
		if i == 5 {
			self.JoinedAt = first.Add(-time.Hour) // not what the store answered: a living member's is fixed
		}
		v := e.beat(e.a, self, e.ages())
		e.that(v.Self.JoinedAt.Equal(first), "heartbeat %d moved JoinedAt from %v to %v", i+2, first, v.Self.JoinedAt)
		m := e.member(e.b, self.Instance.ID)
		e.that(m.JoinedAt.Equal(first), "the other handle sees JoinedAt %v, want %v", m.JoinedAt, first)
		e.that(m.Instance.Equal(self.Instance) && !m.Draining && !m.Leaving, "the other handle sees %+v, want %+v", m, self.Instance)
	}
	e.that(e.members(e.b).Self.ID == "", "Members, which nobody beats for, has a Self")
}

func i02(e *env) {
	ttl := 3 * e.unit
	self, other := e.self(), e.self()
	e.beat(e.b, other, e.ages())
	var first time.Time
	life := timed(ttl, func() { first = e.beat(e.a, self, ttl).Self.JoinedAt })
	for {
		sent := time.Now()
		_, ok := e.members(e.b).Find(self.Instance.ID)
		now := time.Now()
		if !ok {
			e.that(!now.Before(life.earliest.Add(-e.precision())), "the member left %v before its TTL of %v", life.earliest.Sub(now), ttl)
			break
		}
		e.that(sent.Before(life.latest.Add(e.unit)), "the silent member is still listed %v after its TTL", sent.Sub(life.latest))
		e.sleep(e.unit / 20)
	}
	v := e.beat(e.b, other, e.ages())
	_, ok := v.Find(self.Instance.ID)
	e.that(!ok, "Heartbeat shows the member that has expired")
	again := e.beat(e.a, self, e.ages()).Self.JoinedAt
	e.that(again.After(first), "expired and back, the instance has JoinedAt %v, want later than %v", again, first)
	e.member(e.b, self.Instance.ID)
}

func i05(e *env) {
	self, other := e.self(), e.self()
	first := e.beat(e.a, self, e.ages()).Self.JoinedAt
	e.beat(e.b, other, e.ages())
	e.must(e.a.BeginDrain(e.ctx, self.Instance.ID), "BeginDrain")
	e.must(e.a.Leave(e.ctx, self.Instance.ID), "Leave")
	e.each(func(s Store) { e.absent(s, self.Instance.ID) })
	e.must(e.a.Leave(e.ctx, self.Instance.ID), "Leave of an instance that has left")
	e.must(e.a.Leave(e.ctx, e.owner()), "Leave of an unknown instance")
	e.member(e.a, other.Instance.ID)
	e.sleep(e.unit / 10)
	again := e.beat(e.a, self, e.ages()).Self
	e.that(!again.Draining, "an instance that left and joined again is still draining")
	e.that(again.JoinedAt.After(first), "an instance that left and joined again has JoinedAt %v, want later than %v", again.JoinedAt, first)
}

func i06(e *env) {
	var ids []instance.ID
	for i := range 6 {
		self := e.self()
		self.Instance.ID = instance.ID(fmt.Sprintf("instance-%d", 9-i)) // join order is not ID order
		e.beat(e.a, self, e.ages())
		ids = append(ids, self.Instance.ID)
		e.sleep(e.unit / 40)
	}
	self := e.self()
	self.Instance.ID = ids[2]
	for _, read := range []func() []registry.Member{
		func() []registry.Member { return e.members(e.b).Members },
		func() []registry.Member { return e.beat(e.a, self, e.ages()).Members },
		func() []registry.Member { return e.members(e.a).Members },
	} {
		got := read()
		e.that(len(got) == len(ids), "the view has %d members, want %d", len(got), len(ids))
		for i, m := range got {
			e.that(m.ID == ids[i], "place %d has %q, want %q: members are ordered by join time", i, m.ID, ids[i])
			e.that(m.Labels["disk"] == "ssd", "the labels of %q changed with a map that was handed out: %v", m.ID, m.Labels)
			got[i].Labels["disk"] = "overwritten"
			got[i].ID = "overwritten"
		}
	}
	self.Instance.Labels["disk"] = "changed by the caller"
	e.that(e.member(e.b, self.Instance.ID).Labels["disk"] == "ssd", "the store keeps the map that the heartbeat brought")
}

func i08(e *env) {
	wide := strings.Repeat("ü", instance.MaxField/2)
	for _, in := range []instance.Instance{
		{ID: "bare"},
		{ID: "odd", Zone: "a\"b'c\\d", Version: "é \t\n|:{}", Address: "[::1]:80?x=%20", Capacity: 1, Labels: map[string]string{"k": "", "ключ": "значение", "a.b/c": "{}"}},
		{ID: instance.ID(wide), Zone: wide, Version: wide, Address: wide, Capacity: instance.MaxCapacity, Labels: map[string]string{"big": strings.Repeat("x", 500), strings.Repeat("y", 500): "z"}},
		{ID: "bare", Zone: "new"},
		{ID: "odd", Labels: map[string]string{"only": "this"}},
	} {
		v := e.beat(e.a, registry.Self{Instance: in}, e.ages())
		e.that(v.Self.Instance.Equal(in), "Heartbeat answered %+v, want %+v", v.Self.Instance, in)
		m := e.member(e.b, in.ID)
		e.that(m.Instance.Equal(in), "the other handle sees %+v, want %+v", m.Instance, in)
	}
}

func i10(e *env) {
	n := 300
	if testing.Short() {
		n = 60
	}
	ttl := 24 * time.Hour // the longest life a heartbeat may ask for
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := w; i < n; i += 4 {
				s := e.a
				if i%2 == 1 {
					s = e.b
				}
				_, err := s.Heartbeat(e.ctx, registry.Self{Instance: instance.Instance{ID: instance.ID(fmt.Sprintf("many-%04d", i))}}, ttl, 1)
				errs <- err
			}
		})
	}
	wg.Wait()
	for range n {
		e.must(<-errs, "Heartbeat beside others")
	}
	for _, v := range []registry.View{e.members(e.a), e.beat(e.b, registry.Self{Instance: instance.Instance{ID: "many-0000"}}, ttl)} {
		e.that(len(v.Members) == n, "of %d instances the view has %d", n, len(v.Members))
		for i, m := range v.Members {
			e.that(i == 0 || registryLess(v.Members[i-1], m), "the members are out of order at place %d: %+v", i, m)
			e.that(m.TTLLeft > ttl/2 && m.TTLLeft <= ttl+e.unit, "%q, which beat for %v, has %v left", m.ID, ttl, m.TTLLeft)
		}
	}
}

func registryLess(a, b registry.Member) bool {
	if !a.JoinedAt.Equal(b.JoinedAt) {
		return a.JoinedAt.Before(b.JoinedAt)
	}
	return a.ID < b.ID
}

func i11(e *env) {
	self := e.self()
	first := e.beat(e.a, self, e.ages()).Self.JoinedAt
	e.must(e.b.Leave(e.ctx, self.Instance.ID), "Leave")
	e.sleep(e.unit / 10)
	self.JoinedAt = first
	again := e.beat(e.a, self, e.ages()).Self
	e.that(again.JoinedAt.Equal(first), "forgotten by the store, the instance came with JoinedAt %v and has %v", first, again.JoinedAt)
	e.that(e.member(e.b, self.Instance.ID).JoinedAt.Equal(first), "the other handle sees another join time")
}

func i13(e *env) {
	good := e.self()
	bad := map[string]func(*registry.Self) time.Duration{
		"an empty ID":    func(s *registry.Self) time.Duration { s.Instance.ID = ""; return e.ages() },
		"an ID with NUL": func(s *registry.Self) time.Duration { s.Instance.ID = "a\x00"; return e.ages() },
		"an ID of 513 bytes": func(s *registry.Self) time.Duration {
			s.Instance.ID = instance.ID(strings.Repeat("x", 513))
			return e.ages()
		},
		"a zone not in UTF-8": func(s *registry.Self) time.Duration { s.Instance.Zone = "\xff"; return e.ages() },
		"a negative capacity": func(s *registry.Self) time.Duration { s.Instance.Capacity = -1; return e.ages() },
		"too many labels": func(s *registry.Self) time.Duration {
			s.Instance.Labels = map[string]string{}
			for i := range 20 {
				s.Instance.Labels[fmt.Sprint(i)] = strings.Repeat("x", 500)
			}
			return e.ages()
		},
		"a TTL of 0":         func(*registry.Self) time.Duration { return 0 },
		"a TTL of 999 µs":    func(*registry.Self) time.Duration { return 999 * time.Microsecond },
		"a TTL above 24 h":   func(*registry.Self) time.Duration { return 24*time.Hour + 1 },
		"a negative TTL":     func(*registry.Self) time.Duration { return -time.Second },
		"labels without key": func(s *registry.Self) time.Duration { s.Instance.Labels = map[string]string{"": "x"}; return e.ages() },
	}
	for what, spoil := range bad {
		self := registry.Self{Instance: good.Instance.Clone()}
		ttl := spoil(&self)
		_, err := e.a.Heartbeat(e.ctx, self, ttl, 0)
		e.that(errors.Is(err, registry.ErrInvalid), "Heartbeat with %s answered %v, want ErrInvalid", what, err)
	}
	for _, id := range []instance.ID{"", "\xff", "a\x00"} {
		e.that(errors.Is(e.a.BeginDrain(e.ctx, id), registry.ErrInvalid), "BeginDrain of %q is not refused with ErrInvalid", id)
		e.that(errors.Is(e.a.Leave(e.ctx, id), registry.ErrInvalid), "Leave of %q is not refused with ErrInvalid", id)
	}
	e.that(len(e.members(e.b).Members) == 0, "a refused heartbeat left a member behind")
}

func i15(e *env) {
	self, life := e.self(), 40*e.unit
	v := e.beat(e.a, self, life)
	e.that(v.NextExpiry == 0, "alone in the fleet, NextExpiry is %v, want 0", v.NextExpiry)
	soon := e.self()
	first := timed(8*e.unit, func() { e.beat(e.b, soon, 8*e.unit) })
	e.beat(e.b, e.self(), 30*e.unit)
	rounding := e.grace() + time.Millisecond
	for _, known := range []registry.Generation{0, e.members(e.a).Generation} {
		before := time.Now()
		v = e.beatKnowing(e.a, self, life, known)
		least, most := time.Until(first.earliest)-rounding, first.latest.Sub(before)+rounding
		e.that(least <= 0 || v.NextExpiry >= least && v.NextExpiry <= most, "NextExpiry is %v, want between %v and %v (generation passed: %d)", v.NextExpiry, least, most, known)
		m := e.member(e.b, self.Instance.ID)
		e.that(m.TTLLeft > 0 && m.TTLLeft <= life+rounding, "a member that beat for %v has %v left", life, m.TTLLeft)
	}
	e.sleep(time.Until(first.latest) + e.grace())
	v = e.beat(e.a, self, life)
	_, ok := v.Find(soon.Instance.ID)
	e.that(!ok, "at the moment that NextExpiry told, the member is still there")
}
