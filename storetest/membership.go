package storetest

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/registry"
)

func membership() []check {
	reg := []Capability{Registry}
	return []check{
		{id: "I03", name: "a_drain_mark_sticks", run: i03, needs: reg,
			sentence: "BeginDrain takes the instance out of everyone's active members, its own included; it is idempotent and no heartbeat clears it."},
		{id: "I04", name: "a_drain_mark_dies_with_its_instance", run: i04, needs: reg, slow: true,
			sentence: "The drain mark lasts for the instance's life; one for an unknown instance leaves nothing behind."},
		{id: "I07", name: "the_generation_moves_when_something_changed", run: i07, needs: reg, slow: true,
			sentence: "The generation changes whenever a member joined, left, expired, began to drain or changed its description, and never for a mere heartbeat."},
		{id: "I09", name: "leaving_is_no_drain", run: i09, needs: reg,
			sentence: "An instance that beats as leaving is out of the active members, carries no drain mark, and may come back."},
		{id: "I12", name: "a_heartbeat_carries_a_drain_mark", run: i12, needs: reg,
			sentence: "Draining in a heartbeat marks the instance as BeginDrain does, and sticks."},
		{id: "I14", name: "no_change_is_missed_by_generation", run: i14, needs: reg,
			sentence: "One who only reads what is not unchanged ends with the membership as it is, whatever others do meanwhile."},
	}
}

// active fails the check unless the instance's place among the active members is as wanted, on both handles.
func (e *env) active(id instance.ID, want bool) {
	e.Helper()
	e.each(func(s Store) {
		v := e.members(s)
		is := slices.ContainsFunc(v.Active(), func(m registry.Member) bool { return m.ID == id })
		e.that(is == want, "%q is among the active members: %v, want %v", id, is, want)
	})
}

func i03(e *env) {
	self, other := e.self(), e.self()
	e.beat(e.a, self, e.ages())
	e.beat(e.b, other, e.ages())
	id := self.Instance.ID
	e.active(id, true)
	e.must(e.b.BeginDrain(e.ctx, id), "BeginDrain through another handle")
	for range 3 {
		e.active(id, false)
		m := e.member(e.b, id)
		e.that(m.Draining && !m.Leaving, "a draining member reads %+v", m)
		v := e.beat(e.a, self, e.ages()) // its own Draining is false: that clears nothing
		e.that(v.Self.Draining, "the heartbeat of a draining instance does not tell it so")
		self.Instance.Version += "x"
		e.must(e.a.BeginDrain(e.ctx, id), "BeginDrain, repeated")
	}
	e.active(other.Instance.ID, true)
}

func i04(e *env) {
	ttl := 3 * e.unit
	left, lapsed, unknown := e.self(), e.self(), e.self()
	e.beat(e.a, left, e.ages())
	e.beat(e.a, lapsed, ttl)
	for _, s := range []registry.Self{left, lapsed, unknown} {
		e.must(e.a.BeginDrain(e.ctx, s.Instance.ID), "BeginDrain")
	}
	e.must(e.a.Leave(e.ctx, left.Instance.ID), "Leave")
	e.absent(e.b, unknown.Instance.ID)
	e.sleep(ttl + e.unit)
	e.must(e.a.BeginDrain(e.ctx, lapsed.Instance.ID), "BeginDrain of an expired instance")
	for _, s := range []registry.Self{left, lapsed, unknown} {
		v := e.beat(e.a, s, e.ages())
		e.that(!v.Self.Draining, "an instance that joins anew is draining")
		e.active(s.Instance.ID, true)
	}
}

func i07(e *env) {
	self := e.self()
	gen := e.beat(e.a, self, e.ages()).Generation
	e.that(gen != 0, "the generation is 0, which means none")
	changed := func(what string) {
		e.Helper()
		v := e.beatKnowing(e.a, self, e.ages(), gen)
		e.that(!v.Unchanged && v.Generation != gen, "%s, and the view is unchanged (generation %d)", what, v.Generation)
		e.that(v.Members != nil, "%s, and the changed view carries no members", what)
		gen = v.Generation
	}
	calm := func(what string) {
		e.Helper()
		for range 3 {
			v := e.beatKnowing(e.a, self, e.ages(), gen)
			e.that(v.Unchanged && v.Generation == gen, "%s, and the generation went from %d to %d", what, gen, v.Generation)
			e.that(e.members(e.b).Generation == gen, "Members tells another generation than Heartbeat")
		}
	}
	calm("nothing but heartbeats")
	other, short := e.self(), e.self()
	e.beat(e.b, other, e.ages())
	changed("a member joined")
	e.beat(e.b, other, e.ages())
	calm("another beat again")
	e.beat(e.b, short, 5*e.unit)
	changed("a second member joined")
	e.sleep(6 * e.unit)
	changed("a member expired")
	calm("the expired one is gone")
	other.Instance.Version = "v2"
	e.beat(e.b, other, e.ages())
	changed("a member changed its version")
	other.Instance.Labels = map[string]string{"disk": "hdd"}
	e.beat(e.b, other, e.ages())
	changed("a member changed its labels")
	e.must(e.b.BeginDrain(e.ctx, other.Instance.ID), "BeginDrain")
	changed("a member began to drain")
	e.must(e.b.BeginDrain(e.ctx, other.Instance.ID), "BeginDrain, repeated")
	calm("a mark was set twice")
	other.Leaving = true
	e.beat(e.b, other, e.ages())
	changed("a member is leaving")
	e.must(e.b.Leave(e.ctx, other.Instance.ID), "Leave")
	changed("a member left")
	e.must(e.b.Leave(e.ctx, other.Instance.ID), "Leave, repeated")
	calm("one left twice")
}

func i09(e *env) {
	self := e.self()
	e.beat(e.a, self, e.ages())
	self.Leaving = true
	v := e.beat(e.a, self, e.ages())
	e.that(v.Self.Leaving && !v.Self.Draining, "an instance that is leaving reads %+v", v.Self)
	e.active(self.Instance.ID, false)
	m := e.member(e.b, self.Instance.ID)
	e.that(m.Leaving && !m.Draining, "an instance that is leaving reads %+v", m)
	self.Leaving = false
	e.beat(e.a, self, e.ages())
	e.active(self.Instance.ID, true)
}

func i12(e *env) {
	fresh, known := e.self(), e.self()
	fresh.Draining = true
	e.that(e.beat(e.a, fresh, e.ages()).Self.Draining, "a first heartbeat that says draining made no mark")
	e.beat(e.a, known, e.ages())
	known.Draining = true
	e.that(e.beat(e.a, known, e.ages()).Self.Draining, "a heartbeat that says draining made no mark")
	fresh.Draining, known.Draining = false, false
	e.beat(e.a, fresh, e.ages())
	e.beat(e.a, known, e.ages())
	e.active(fresh.Instance.ID, false)
	e.active(known.Instance.ID, false)
}

// i14 follows the membership by generation while others come and go.
func i14(e *env) {
	self := e.self()
	stop := make(chan struct{})
	errs := make(chan error, 4)
	var wg sync.WaitGroup
	for w := range 4 {
		s := e.b
		if w == 0 {
			s = e.a
		}
		ids := []registry.Self{e.self(), e.self(), e.self()}
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := e.comeAndGo(s, ids[i%len(ids)], i); err != nil {
					errs <- err
					return
				}
				pause(e.ctx, e.unit/100)
			}
		})
	}
	v := e.beat(e.a, self, e.ages())
	known, have := v.Generation, byID(v.Members)
	follow := func() {
		if v := e.beatKnowing(e.a, self, e.ages(), known); !v.Unchanged {
			known, have = v.Generation, byID(v.Members)
		}
	}
	for end := time.Now().Add(3 * e.unit); time.Now().Before(end); e.sleep(e.unit / 50) {
		follow()
	}
	close(stop)
	wg.Wait()
	select {
	case err := <-errs:
		e.Fatalf("a call beside others: %v", err)
	default:
	}
	one, two := e.self(), e.self()
	e.beat(e.b, one, e.ages())
	follow()
	e.must(e.b.Leave(e.ctx, one.Instance.ID), "Leave") // one for one: as many as before
	e.beat(e.b, two, e.ages())
	follow()
	want := byID(e.members(e.b).Members)
	e.that(maps.Equal(have, want), "followed by generation the membership is %v, read in full it is %v", have, want)
}

func (e *env) comeAndGo(s Store, self registry.Self, i int) error {
	switch i % 4 {
	case 1:
		return s.BeginDrain(e.ctx, self.Instance.ID)
	case 3:
		return s.Leave(e.ctx, self.Instance.ID)
	}
	_, err := s.Heartbeat(e.ctx, self, e.ages(), 0)
	return err
}

// byID is the membership as a plan sees it: who there is, and who takes no work.
func byID(members []registry.Member) map[instance.ID]bool {
	m := map[instance.ID]bool{}
	for _, x := range members {
		m[x.ID] = x.Draining || x.Leaving
	}
	return m
}
