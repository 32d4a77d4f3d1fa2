package storetest

import (
	"time"

	"github.com/tenure-go/tenure/lease"
)

func ownership() []check {
	return []check{
		{id: "O01", name: "free_key_is_granted_and_refused_to_others", run: o01,
			sentence: "Acquire grants a free key with a token above 0, and refuses a held one with its owner and what that owner's session has left."},
		{id: "O02", name: "refused_try_changes_nothing", run: o02, slow: true,
			sentence: "A refused Acquire neither extends nor shortens the holder's session, and leaves its token alone."},
		{id: "O03", name: "renewal_extends_and_keeps_the_token", run: o03, slow: true,
			sentence: "Renew extends the session to TTL from now, and with it all that it holds; it never changes a token."},
		{id: "O04", name: "release_of_an_older_term_has_no_effect", run: o04,
			sentence: "Release is matched by key, session and token: an older token releases nothing."},
		{id: "O10", name: "own_key_is_granted_again_with_its_token", run: o10,
			sentence: "A key that is already this session's keeps its token; after a release the next token is higher."},
		{id: "O11", name: "keys_are_independent", run: o11,
			sentence: "Each key is decided on its own."},
		{id: "O12", name: "fleets_are_independent", run: o12,
			sentence: "A fleet is a namespace: equal keys in two fleets are two leases."},
		{id: "O14", name: "release_frees_at_once", run: o14,
			sentence: "A released key is grantable at once, without waiting for any TTL or hint."},
		{id: "O20", name: "verify_judges_by_key_session_and_token", run: o20,
			sentence: "Verify answers which leases are not this session's any more, each by key, session and token."},
		{id: "O22", name: "list_shows_exactly_what_is_held", run: o22, needs: []Capability{Lists}, slow: true,
			sentence: "Leases answers every lease that is held now, ordered by key: nothing released, nothing lapsed."},
		{id: "O24", name: "answers_belong_to_the_caller", run: o24,
			sentence: "Returned slices belong to the caller, and passed ones stay the caller's."},
	}
}

func o01(e *env) {
	ttl := e.long()
	sa, sb := e.session(e.a, ttl), e.session(e.b, ttl)
	k := e.key()
	l := e.grant(e.a, sa, k)
	e.that(!l.GrantedAt.IsZero(), "the lease of %q has no GrantedAt", k)
	r := e.refused(e.b, sb, k)
	e.names(r, sa.Owner)
	e.that(r.RetryAfter <= ttl+e.unit, "the refusal of %q says to retry after %v, more than the TTL of %v", k, r.RetryAfter, ttl)
	e.each(func(s Store) { e.held(s, sa, l) })
}

func o02(e *env) {
	ttl := 5 * e.unit
	sa, sb := e.session(e.a, ttl), e.session(e.b, e.long())
	l := e.grant(e.a, sa, e.key())
	e.knock(sb, l.Key)
	e.held(e.a, sa, l)
	e.renewed(e.a, sa)
	life := timed(ttl, func() {
		again := e.grant(e.a, sa, l.Key)
		e.that(again.Token == l.Token, "the refused tries moved the token from %d to %d", l.Token, again.Token)
	})
	e.knock(sb, l.Key)
	e.sleepUntil(life.latest.Add(e.unit))
	e.grant(e.b, sb, l.Key)
}

// knock asks for a held key again and again.
func (e *env) knock(sb lease.Session, key string) {
	e.Helper()
	for range 8 {
		e.refused(e.b, sb, key)
		e.sleep(e.unit / 4)
	}
}

func o03(e *env) {
	ttl := 5 * e.unit
	sa, sb := e.session(e.a, ttl), e.session(e.b, e.long())
	got, _, err := e.acquire(e.a, sa, e.keys(20)...)
	e.must(err, "Acquire of 20 free keys")
	for range 4 {
		e.sleep(2 * e.unit)
		e.renewed(e.a, sa)
	}
	for _, l := range got {
		e.held(e.b, sa, l)
		again := e.grant(e.a, sa, l.Key)
		e.that(again.Token == l.Token, "renewals moved the token of %q from %d to %d", l.Key, l.Token, again.Token)
		e.refused(e.b, sb, l.Key)
	}
}

func o04(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	k := e.key()
	old := e.grant(e.a, sa, k)
	e.release(e.a, sa, old)
	now := e.grant(e.a, sa, k)
	e.release(e.a, sa, old)
	e.held(e.a, sa, now)
	e.lost(e.a, sa, old)
	e.refused(e.b, sb, k)
	newer := now
	newer.Token++
	e.release(e.a, sa, newer)
	e.held(e.a, sa, now)
	e.refused(e.b, sb, k)
}

func o10(e *env) {
	sa := e.session(e.a, e.long())
	k := e.key()
	l := e.grant(e.a, sa, k)
	e.each(func(s Store) {
		again := e.grant(s, sa, k)
		e.that(again.Token == l.Token, "the same session asked again for %q and got token %d, want %d", k, again.Token, l.Token)
	})
	e.release(e.a, sa, l)
	next := e.grant(e.a, sa, k)
	e.that(next.Token > l.Token, "after a release %q has token %d, want above %d", k, next.Token, l.Token)
}

func o11(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	la, lb := e.grant(e.a, sa, "left"), e.grant(e.b, sb, "right")
	e.refused(e.a, sa, "right")
	e.refused(e.b, sb, "left")
	e.release(e.a, sa, la)
	e.held(e.b, sb, lb)
	e.grant(e.b, sb, "left")
	e.held(e.b, sb, lb)
}

func o12(e *env) {
	other, _ := e.openFleet(true)
	sa, so := e.session(e.a, e.long()), e.session(other, e.long())
	k := e.key()
	la, lo := e.grant(e.a, sa, k), e.grant(other, so, k)
	e.held(e.a, sa, la)
	e.held(other, so, lo)
	_, err := other.Renew(e.ctx, sa)
	e.lapsed(err, "Renew in another fleet")
	e.release(other, so, lo)
	e.held(e.a, sa, la)
}

func o14(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	k := e.key()
	for range 20 {
		la := e.grant(e.a, sa, k)
		e.refused(e.b, sb, k)
		e.release(e.a, sa, la)
		lb := e.grant(e.b, sb, k)
		e.refused(e.a, sa, k)
		e.release(e.b, sb, lb)
	}
}

func o20(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	k, theirs := e.key(), e.key()
	l, lb := e.grant(e.a, sa, k), e.grant(e.b, sb, theirs)
	past, future := l, l
	past.Token--
	future.Token++
	never := lease.Lease{Key: "never-granted", Owner: sa.Owner, Session: sa.ID, Token: l.Token}
	mine := lease.Lease{Key: theirs, Owner: sa.Owner, Session: sa.ID, Token: lb.Token}
	want := map[lease.Lease]bool{past: true, future: true, never: true, mine: true}
	for _, loss := range e.lost(e.a, sa, past, future, never, mine) {
		e.that(want[loss.Lease], "Verify says lost of %+v, which it was not asked about", loss.Lease)
		e.that(loss.Reason != "", "Verify says lost of %q without a reason", loss.Lease.Key)
		delete(want, loss.Lease)
	}
	v, err := e.b.Verify(e.ctx, sa, []lease.Lease{past, l, never})
	e.must(err, "Verify of one held lease between two others")
	for _, loss := range v.Lost {
		e.that(loss.Lease != l, "Verify says lost of the one lease that is held")
	}
	e.that(len(v.Lost) == 2, "Verify of one held lease between two others says lost of %d, want 2", len(v.Lost))
}

func o22(e *env) {
	short := 3 * e.unit
	stays, goes := e.session(e.a, e.long()), e.session(e.a, short)
	keys := []string{"b", "a", "Z", "ab", "é", "c"}
	got, _, err := e.acquire(e.a, stays, keys...)
	e.must(err, "Acquire of %q", keys)
	e.grant(e.a, goes, "lapses")
	gone := time.Now().Add(short)
	e.release(e.a, stays, got["c"])
	e.sleepUntil(gone.Add(e.unit))
	e.each(func(s Store) {
		list, err := s.(lease.Lister).Leases(e.ctx)
		e.must(err, "Leases")
		want := []string{"Z", "a", "ab", "b", "é"}
		e.that(len(list) == len(want), "Leases lists %d, want the %d that are held: %+v", len(list), len(want), list)
		for i, l := range list {
			e.that(l.Key == want[i], "Leases has %q in place %d, want %q (ordered by key, byte for byte)", l.Key, i, want[i])
			g := got[l.Key]
			e.that(l.Token == g.Token && l.Owner == g.Owner && l.Session == g.Session, "Leases shows %+v, granted was %+v", l, g)
		}
	})
}

func o24(e *env) {
	sa := e.session(e.a, e.long())
	keys := []string{"one", "two"}
	g, err := e.a.Acquire(e.ctx, sa, keys)
	e.must(err, "Acquire")
	e.that(len(g.Leases) == 2, "Acquire of two free keys granted %d", len(g.Leases))
	leases := []lease.Lease{g.Leases[0], g.Leases[1]}
	keys[0], keys[1] = "changed", "changed"
	g.Leases[0], g.Leases[1] = lease.Lease{}, lease.Lease{}
	e.held(e.a, sa, leases...)
	lister, ok := e.a.(lease.Lister)
	if !ok {
		return
	}
	for range 2 {
		list, err := lister.Leases(e.ctx)
		e.must(err, "Leases")
		e.that(len(list) == 2 && list[0].Key == "one" && list[1].Key == "two", "the list changed with a slice that was handed out: %+v", list)
		list[0], list[1] = lease.Lease{Key: "z"}, lease.Lease{Key: "y"}
	}
}
