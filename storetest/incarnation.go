package storetest

import (
	"errors"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

func incarnations() []check {
	wipe, restore := []Capability{CanWipe, Sessions}, []Capability{CanRestore, Sessions}
	return []check{
		{id: "N01", name: "an_unprovisioned_fleet_starts_frozen", run: n01, virgin: true, slow: true, needs: []Capability{Provisions},
			sentence: "A fleet's first start grants nothing for MaxTTL unless it was provisioned, and then it grants."},
		{id: "N02", name: "provisioning_spares_the_freeze_once", run: n02, virgin: true, needs: []Capability{Provisions},
			sentence: "A provisioned fleet grants at once; provisioning one that exists changes nothing."},
		{id: "N03", name: "holders_re_assert_what_they_hold", run: n03, needs: wipe, slow: true,
			sentence: "After a loss of data the store begins a new incarnation and freezes; a holder renews, verifies, and keeps its lease and token."},
		{id: "N04", name: "what_nobody_asserts_is_free_after_the_freeze", run: n04, needs: wipe, slow: true,
			sentence: "While frozen, nothing new is granted; after MaxTTL what nobody re-asserted is free, under a higher token."},
		{id: "N05", name: "records_of_an_earlier_incarnation_do_not_count", run: n05, needs: restore, slow: true,
			sentence: "A lease record counts only in the incarnation that granted it, or in which it was verified."},
		{id: "N06", name: "the_newer_claim_wins", run: n06, needs: wipe,
			sentence: "While frozen, Verify writes a lease again where its record is absent or has no newer token, and no other."},
		{id: "N07", name: "frozen_stores_still_end_things", run: n07, needs: wipe, slow: true,
			sentence: "While frozen, OpenSession, Renew and Release work; Verify of a session that the store does not know is unknown, not lost."},
		{id: "N08", name: "a_calm_store_keeps_its_incarnation", run: n08,
			sentence: "The incarnation changes only when the store lost data, and every call answers the same one."},
		{id: "N09", name: "the_membership_heals_after_a_loss", run: n09, needs: []Capability{CanWipe, Registry}, slow: true,
			sentence: "After a loss of data no generation of before reads unchanged, and members bring their join times and marks back."},
		{id: "N10", name: "restored_writes_lower_no_token", run: n10, needs: restore, slow: true,
			sentence: "Tokens only grow, also where the store lost the latest grants."},
	}
}

// frozen fails the check unless the incarnation is frozen for at most MaxTTL.
func (e *env) frozen(in lease.Incarnation) {
	e.Helper()
	e.that(in.FrozenFor > 0 && in.FrozenFor <= e.cfg.MaxTTL+e.unit, "the store is frozen for %v, want above 0 and at most MaxTTL = %v", in.FrozenFor, e.cfg.MaxTTL)
}

// nothingNew fails the check unless the frozen store refuses all the keys as busy.
func (e *env) nothingNew(s Store, sess lease.Session, keys ...string) {
	e.Helper()
	g, err := s.Acquire(e.ctx, sess, keys)
	e.must(err, "Acquire while frozen")
	e.frozen(g.Incarnation)
	e.that(len(g.Leases) == 0, "a frozen store granted %+v", g.Leases)
	e.that(len(g.Refused) == len(keys), "of %d keys a frozen store refused %d", len(keys), len(g.Refused))
	for _, r := range g.Refused {
		e.that(r.RetryAfter > 0, "a frozen store refused %q with RetryAfter %v", r.Key, r.RetryAfter)
	}
}

func n01(e *env) {
	sess := lease.NewSession(e.owner(), e.cfg.MaxTTL)
	before := time.Now()
	in, err := e.a.OpenSession(e.ctx, sess)
	e.must(err, "OpenSession on a fleet that was not provisioned")
	e.frozen(in)
	e.nothingNew(e.b, sess, "a", "b")
	e.thawed(e.a, sess)
	e.that(time.Since(before) > e.cfg.MaxTTL-e.unit, "the freeze lasted %v, want MaxTTL = %v", time.Since(before), e.cfg.MaxTTL)
	e.grant(e.b, sess, "a")
}

func n02(e *env) {
	e.must(e.a.(lease.Provisioner).Provision(e.ctx), "Provision")
	sess := e.session(e.a, e.cfg.MaxTTL)
	l := e.grant(e.a, sess, e.key())
	in := e.renewed(e.a, sess).Incarnation
	for range 2 {
		e.must(e.b.(lease.Provisioner).Provision(e.ctx), "Provision of a fleet that exists")
		r := e.renewed(e.b, sess)
		e.that(r.Incarnation == in, "Provision of a fleet that exists changed the incarnation from %+v to %+v", in, r.Incarnation)
	}
	e.held(e.b, sess, l)
}

func n03(e *env) {
	sess := e.session(e.a, e.cfg.MaxTTL)
	before := e.renewed(e.a, sess).Incarnation
	one, two := e.grant(e.a, sess, "one"), e.grant(e.a, sess, "two")
	e.sleep(e.unit / 10)
	e.cfg.Faults.Wipe(e.t, e.a)
	r := e.renewed(e.a, sess)
	e.that(r.Incarnation.Number > before.Number, "after a loss of data the incarnation is %d, want above %d", r.Incarnation.Number, before.Number)
	e.frozen(r.Incarnation)
	e.held(e.a, sess, one, two)
	g, err := e.a.Acquire(e.ctx, sess, []string{"one"})
	e.must(err, "Acquire of the session's own key while frozen")
	e.that(len(g.Leases) == 0 || g.Leases[0].Token == one.Token, "while frozen, the session's own key was granted anew: %+v, had token %d", g.Leases, one.Token)
	rival := e.session(e.b, e.cfg.MaxTTL)
	e.nothingNew(e.b, rival, "one", "two", "free")
	e.thawed(e.a, sess)
	rival = e.session(e.b, e.cfg.MaxTTL)
	for _, l := range []lease.Lease{one, two} {
		e.held(e.b, sess, l)
		e.refused(e.b, rival, l.Key)
		again := e.grant(e.a, sess, l.Key)
		e.that(again.Token == l.Token, "re-asserted, %q has token %d, want its old %d", l.Key, again.Token, l.Token)
	}
	e.release(e.a, sess, one)
	next := e.grant(e.b, rival, "one")
	e.that(next.Token > one.Token, "after all data was lost the token of %q went from %d to %d", "one", one.Token, next.Token)
}

func n04(e *env) {
	silent := e.session(e.a, e.cfg.MaxTTL)
	l := e.grant(e.a, silent, e.key())
	e.cfg.Faults.Wipe(e.t, e.a)
	lost := time.Now()
	rival := e.session(e.b, e.cfg.MaxTTL)
	for e.renewed(e.b, rival).Incarnation.FrozenFor > 2*e.unit {
		g, err := e.b.Acquire(e.ctx, rival, []string{l.Key})
		e.must(err, "Acquire while frozen")
		e.that(len(g.Leases) == 0 || g.Incarnation.FrozenFor == 0, "a frozen store granted %+v", g.Leases)
		e.sleep(e.unit)
	}
	e.thawed(e.b, rival)
	e.that(time.Since(lost) >= e.cfg.MaxTTL-e.unit, "grants began %v after the loss of data: earlier than MaxTTL %v, so that a holder may still work", time.Since(lost), e.cfg.MaxTTL)
	next := e.grant(e.b, rival, l.Key)
	e.that(next.Token > l.Token, "after all data was lost the token of %q went from %d to %d", l.Key, l.Token, next.Token)
}

// n05: the snapshot shows a holding both keys, but a has let go of both, and b took one, before it came back.
func n05(e *env) {
	sa, sb := e.session(e.a, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	moved, free := e.grant(e.a, sa, "moved"), e.grant(e.a, sa, "free")
	restore := e.snapshot()
	e.release(e.a, sa, moved, free)
	taken := e.grant(e.b, sb, "moved")
	restore()
	e.frozen(e.renewed(e.a, sa).Incarnation)
	e.frozen(e.renewed(e.b, sb).Incarnation)
	e.held(e.b, sb, taken)
	e.lost(e.a, sa, moved)
	for e.renewed(e.a, sa).Incarnation.FrozenFor > 0 { // both live on; a verifies nothing more
		e.renewed(e.b, sb)
		e.sleep(e.unit)
	}
	e.thawed(e.b, sb)
	e.held(e.b, sb, taken)
	e.refused(e.a, sa, "moved")
	next := e.grant(e.b, sb, "free")
	e.that(next.Token > free.Token, "the token of %q went from %d to %d", "free", free.Token, next.Token)
}

func n06(e *env) {
	sa, sb := e.session(e.a, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	var old, now [2]lease.Lease
	for i, k := range []string{"new-first", "old-first"} {
		old[i] = e.grant(e.a, sa, k)
		e.release(e.a, sa, old[i])
		now[i] = e.grant(e.b, sb, k)
	}
	e.cfg.Faults.Wipe(e.t, e.a)
	e.frozen(e.renewed(e.a, sa).Incarnation)
	e.frozen(e.renewed(e.b, sb).Incarnation)
	e.held(e.b, sb, now[0])
	e.lost(e.a, sa, old[0])
	_, err := e.a.Verify(e.ctx, sa, old[1:]) // a stale claim that comes first may be believed
	e.must(err, "Verify while frozen")
	e.held(e.b, sb, now[:]...)
	e.lost(e.a, sa, old[:]...)
}

func n07(e *env) {
	short := e.session(e.a, 2*e.unit)
	sess := e.session(e.a, e.cfg.MaxTTL)
	l := e.grant(e.a, sess, e.key())
	e.cfg.Faults.Wipe(e.t, e.a)
	_, err := e.a.OpenSession(e.ctx, lease.NewSession(e.owner(), e.long()))
	e.must(err, "OpenSession while frozen")
	_, err = e.a.Verify(e.ctx, sess, []lease.Lease{l})
	e.that(errors.Is(err, lease.ErrUnavailable), "Verify of a session that a frozen store does not know answered %v, want ErrUnavailable", err)
	e.renewed(e.a, sess)
	e.held(e.a, sess, l)
	e.release(e.a, sess, l)
	e.release(e.a, sess, l)
	e.nothingNew(e.b, sess, l.Key)
	e.sleep(3 * e.unit)
	in, err := e.a.OpenSession(e.ctx, short)
	e.must(err, "OpenSession of a lapsed session while frozen")
	e.frozen(in)
	sess = lease.NewSession(e.owner(), e.cfg.MaxTTL)
	e.openAs(e.a, sess)
	e.thawed(e.a, sess)
	next := e.grant(e.b, sess, l.Key)
	e.that(next.Token > l.Token, "released while frozen, %q is granted under token %d, want above %d", l.Key, next.Token, l.Token)
}

func n08(e *env) {
	sess := lease.NewSession(e.owner(), e.long())
	in, err := e.a.OpenSession(e.ctx, sess)
	e.must(err, "OpenSession")
	for range 3 {
		e.each(func(s Store) {
			opened, err := s.OpenSession(e.ctx, lease.NewSession(e.owner(), e.long()))
			e.must(err, "OpenSession")
			g, err := s.Acquire(e.ctx, sess, []string{"k"})
			e.must(err, "Acquire")
			v, err := s.Verify(e.ctx, sess, g.Leases)
			e.must(err, "Verify")
			for call, got := range map[string]lease.Incarnation{"OpenSession": opened, "Acquire": g.Incarnation, "Renew": e.renewed(s, sess).Incarnation, "Verify": v.Incarnation} {
				e.that(got.Number == in.Number && got.FrozenFor == 0, "nothing was lost, and %s answers the incarnation %+v, before it was %+v", call, got, in)
			}
		})
		e.sleep(e.unit / 4)
	}
}

func n09(e *env) {
	self, other := e.self(), e.self()
	v := e.beat(e.a, self, e.ages())
	known := v.Generation
	marked := e.beat(e.b, other, e.ages()).Self
	known = e.beatKnowing(e.a, self, e.ages(), known).Generation
	e.cfg.Faults.Wipe(e.t, e.a)
	self.JoinedAt = v.Self.JoinedAt
	e.sleep(e.unit / 4)
	after := e.beatKnowing(e.a, self, e.ages(), known)
	e.that(!after.Unchanged, "the membership was lost, and generation %d of before reads unchanged", known)
	e.that(after.Self.JoinedAt.Equal(v.Self.JoinedAt), "the member came back with JoinedAt %v, want %v", after.Self.JoinedAt, v.Self.JoinedAt)
	back := registry.Self{Instance: other.Instance, JoinedAt: marked.JoinedAt, Draining: true}
	m := e.beat(e.b, back, e.ages()).Self
	e.that(m.Draining && m.JoinedAt.Equal(marked.JoinedAt), "a draining member came back as %+v", m)
}

func n10(e *env) {
	sess := e.session(e.a, e.cfg.MaxTTL)
	first := e.grant(e.a, sess, "k")
	restore := e.snapshot()
	last := first
	for range 5 {
		e.release(e.a, sess, last)
		last = e.grant(e.a, sess, "k")
	}
	e.release(e.a, sess, last)
	restore()
	e.thawed(e.a, sess)
	next := e.grant(e.a, sess, "k")
	e.that(next.Token > last.Token, "the store forgot five grants, and the token of %q went from %d to %d", "k", last.Token, next.Token)
}
