package storetest

import (
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

func strangers() []check {
	return []check{
		{id: "O05", name: "release_by_another_session_has_no_effect", run: o05,
			sentence: "Release is matched by session: the right key and token under another session, even of the same owner, release nothing."},
		{id: "O06", name: "sessions_and_owners_are_compared_whole", run: o06,
			sentence: "Session IDs and owners are compared byte for byte: no prefix, no case folding, no trimming."},
		{id: "O09", name: "release_may_be_repeated", run: o09,
			sentence: "Releasing twice, releasing what was never held, and releasing after a takeover are no errors and have no effect."},
		{id: "O13", name: "two_sessions_of_one_owner_are_two_holders", run: o13,
			sentence: "OpenSession ends no other session of the same owner, and a key belongs to one session, not to its owner."},
		{id: "O15", name: "acquiring_needs_an_open_session", run: o15, needs: []Capability{Sessions},
			sentence: "A session that was never opened acquires, renews and verifies nothing: ErrSessionLapsed."},
	}
}

func o05(e *env) {
	owner := e.owner()
	sa := e.openAs(e.a, lease.NewSession(owner, e.long()))
	same := e.openAs(e.a, lease.NewSession(owner, e.long()))
	sb := e.session(e.b, e.long())
	l := e.grant(e.a, sa, e.key())
	for _, s := range []lease.Session{same, sb} {
		stolen := l
		stolen.Session, stolen.Owner = s.ID, s.Owner
		e.each(func(st Store) {
			e.release(st, s, l)
			e.release(st, s, stolen)
		})
		e.lost(e.a, s, stolen)
	}
	e.held(e.a, sa, l)
	e.refused(e.b, sb, l.Key)
}

func o06(e *env) {
	const id = "0123456789abcdef-Session"
	names := []string{id, id[:len(id)-1], id[:1], id + "x", id + " ", " " + id, "0123456789ABCDEF-SESSION", id + "|", id + ":",
		id + "\x01", id + "\n", id + "%", id + "*", id + "_"}
	holder := e.openAs(e.a, lease.Session{ID: id, Owner: instance.ID(id), TTL: e.long()})
	l := e.grant(e.a, holder, e.key())
	for _, n := range names[1:] {
		s := lease.Session{ID: n, Owner: instance.ID(n), TTL: e.long()}
		if e.has(Sessions) {
			_, err := e.b.Renew(e.ctx, s)
			e.lapsed(err, "Renew of the unknown session "+n)
		}
		e.openAs(e.b, s)
		r := e.refused(e.b, s, l.Key)
		e.names(r, holder.Owner)
		mine := l
		mine.Session, mine.Owner = s.ID, s.Owner
		e.release(e.b, s, mine)
		e.lost(e.b, s, mine)
		e.closeSession(e.b, s)
		e.held(e.a, holder, l)
	}
}

func o09(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	k := e.key()
	never := lease.Lease{Key: "never-granted", Owner: sa.Owner, Session: sa.ID, Token: 1}
	e.release(e.a, sa, never)
	old := e.grant(e.a, sa, k)
	e.release(e.a, sa, old)
	e.release(e.a, sa, old)
	lb := e.grant(e.b, sb, k)
	e.each(func(s Store) { e.release(s, sa, old, old, never) })
	e.held(e.b, sb, lb)
	e.refused(e.a, sa, k)
}

func o13(e *env) {
	owner := e.owner()
	one := e.openAs(e.a, lease.NewSession(owner, e.long()))
	l := e.grant(e.a, one, e.key())
	two := e.openAs(e.b, lease.NewSession(owner, e.long()))
	e.held(e.a, one, l)
	r := e.refused(e.b, two, l.Key)
	e.names(r, owner)
	other := e.grant(e.b, two, e.key())
	e.closeSession(e.b, two)
	e.held(e.a, one, l)
	e.renewed(e.a, one)
	e.grant(e.a, one, other.Key)
}

func o15(e *env) {
	s := lease.NewSession(e.owner(), e.long())
	k := e.key()
	_, err := e.a.Acquire(e.ctx, s, []string{k})
	e.lapsed(err, "Acquire")
	_, err = e.a.Renew(e.ctx, s)
	e.lapsed(err, "Renew")
	_, err = e.a.Verify(e.ctx, s, []lease.Lease{{Key: k, Owner: s.Owner, Session: s.ID, Token: 1}})
	e.lapsed(err, "Verify")
	e.must(e.a.CloseSession(e.ctx, s), "CloseSession of a session that was never opened")
	e.grant(e.b, e.session(e.b, e.long()), k)
}
