package storetest

import (
	"time"

	"github.com/tenure-go/tenure/lease"
)

func sessions() []check {
	return []check{
		{id: "O07", name: "lapsed_session_cannot_renew", run: o07, slow: true, needs: []Capability{Sessions},
			sentence: "A lapsed session never comes back, even where nobody took its keys; the next grant has a higher token."},
		{id: "O08", name: "lapsed_session_cannot_use_what_others_let_go", run: o08, slow: true, needs: []Capability{Sessions},
			sentence: "A lapsed session stays over after its keys were taken and let go by another."},
		{id: "O16", name: "opening_twice_extends", run: o16, slow: true, needs: []Capability{Sessions},
			sentence: "OpenSession extends a session that is open already, and everything that it holds stays."},
		{id: "O17", name: "a_session_is_the_stores_not_the_handles", run: o17,
			sentence: "A session opened through one handle works through every other."},
		{id: "O18", name: "closing_a_session_lets_go_of_everything", run: o18,
			sentence: "CloseSession lets go of all that the session holds at once; closing an unknown, lapsed or closed one is no error."},
		{id: "O19", name: "an_ended_session_cannot_be_opened_again", run: o19, slow: true, needs: []Capability{Sessions},
			sentence: "OpenSession refuses a session that has lapsed or was closed with ErrSessionLapsed while the store remembers it."},
		{id: "O21", name: "verifying_and_acquiring_extend_nothing", run: o21, slow: true, needs: []Capability{Sessions},
			sentence: "Only OpenSession and Renew extend a session: neither Verify, nor Acquire, nor Release does."},
		{id: "O23", name: "a_lapse_frees_every_key", run: o23, slow: true,
			sentence: "When a session lapses, all its keys are free from that instant on."},
		{id: "O25", name: "a_lapse_is_told_rightly", run: o25, slow: true,
			sentence: "Where a grant tells of a lapse, the key's last term ended by it: the owner is right, and the lapse is not older than it can be."},
		{id: "O26", name: "a_lapse_is_told", run: o26, slow: true, needs: []Capability{Lapses},
			sentence: "The first grant of a key after the lapse of its owner's session tells of that lapse."},
	}
}

func o07(e *env) {
	ttl := 3 * e.unit
	sa := e.session(e.a, ttl)
	l := e.grant(e.a, sa, e.key())
	e.sleep(ttl + e.unit)
	e.over(e.a, sa, l)
	e.over(e.b, sa, l)
	next := e.session(e.a, e.long())
	again := e.grant(e.a, next, l.Key)
	e.that(again.Token > l.Token, "after a lapse %q has token %d, want above %d", l.Key, again.Token, l.Token)
	e.release(e.a, sa, l) // not its any more: no error, no effect
	e.held(e.b, next, again)
}

func o08(e *env) {
	ttl := 3 * e.unit
	sa, sb := e.session(e.a, ttl), e.session(e.b, e.long())
	l := e.grant(e.a, sa, e.key())
	e.sleep(ttl + e.unit)
	lb := e.grant(e.b, sb, l.Key)
	e.over(e.a, sa, l)
	e.release(e.b, sb, lb)
	e.over(e.a, sa, l)
	_, refused, err := e.acquire(e.b, sb, l.Key)
	e.that(err == nil && len(refused) == 0, "a lapsed session keeps the key that another let go: %+v, %v", refused, err)
}

func o16(e *env) {
	ttl := 5 * e.unit
	sa, sb := e.session(e.a, ttl), e.session(e.b, e.long())
	l := e.grant(e.a, sa, e.key())
	for range 4 {
		e.sleep(2 * e.unit)
		e.openAs(e.a, sa)
	}
	e.held(e.a, sa, l)
	e.refused(e.b, sb, l.Key)
}

func o17(e *env) {
	sa := e.session(e.a, e.long())
	l := e.grant(e.b, sa, e.key())
	e.renewed(e.b, sa)
	e.held(e.a, sa, l)
	e.release(e.b, sa, l)
	e.lost(e.a, sa, l)
	e.closeSession(e.b, sa)
	if e.has(Sessions) {
		e.over(e.a, sa)
	}
}

func o18(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	keys := e.keys(30)
	got, _, err := e.acquire(e.a, sa, keys...)
	e.must(err, "Acquire of 30 keys")
	e.closeSession(e.a, sa)
	next, refused, err := e.acquire(e.b, sb, keys...)
	e.must(err, "Acquire after the holder closed its session")
	e.that(len(refused) == 0, "after CloseSession %d of 30 keys are still refused", len(refused))
	for k, l := range next {
		e.that(l.Token > got[k].Token, "after CloseSession %q has token %d, want above %d", k, l.Token, got[k].Token)
	}
	if e.has(Sessions) {
		e.over(e.a, sa, got[keys[0]])
	}
	e.closeSession(e.a, sa)
	e.closeSession(e.b, lease.NewSession(e.owner(), e.long()))
	e.held(e.b, sb, next[keys[0]])
}

func o19(e *env) {
	ttl := 3 * e.unit
	closed, lapsed := e.session(e.a, e.long()), e.session(e.a, ttl)
	e.closeSession(e.a, closed)
	e.sleep(ttl + e.unit)
	e.each(func(s Store) {
		for _, sess := range []lease.Session{closed, lapsed} {
			_, err := s.OpenSession(e.ctx, sess)
			e.lapsed(err, "OpenSession")
		}
	})
	e.closeSession(e.a, lapsed)
}

func o21(e *env) {
	ttl := 4 * e.unit
	var sa lease.Session
	life := timed(ttl, func() { sa = e.session(e.a, ttl) })
	sb := e.session(e.b, e.long())
	l := e.grant(e.a, sa, "kept")
	for range 6 {
		e.sleep(e.unit / 2)
		other, err := e.a.Acquire(e.ctx, sa, []string{"kept", "other"})
		if err == nil {
			_, err = e.a.Verify(e.ctx, sa, other.Leases)
		}
		if err == nil {
			err = e.a.Release(e.ctx, sa, []lease.Lease{{Key: "other", Owner: sa.Owner, Session: sa.ID, Token: 1}})
		}
		if err != nil {
			break // the machine was slow, and the session lapsed: that is what is wanted
		}
	}
	e.sleepUntil(life.latest.Add(e.unit))
	e.over(e.a, sa, l)
	e.grant(e.b, sb, "kept")
}

func o23(e *env) {
	ttl := 4 * e.unit
	sa := e.session(e.a, ttl)
	keys := e.keys(30)
	got, _, err := e.acquire(e.a, sa, keys...)
	e.must(err, "Acquire of 30 keys")
	e.sleep(ttl + e.unit)
	sb := e.session(e.b, e.long())
	next, refused, err := e.acquire(e.b, sb, keys...)
	e.must(err, "Acquire after the holder lapsed")
	e.that(len(refused) == 0, "after a lapse %d of 30 keys are still refused", len(refused))
	for k, l := range next {
		e.that(l.Token > got[k].Token, "after a lapse %q has token %d, want above %d", k, l.Token, got[k].Token)
	}
}

// A store need not tell of lapses; what it tells must be so.
func o25(e *env) {
	ttl := 4 * e.unit
	fresh, lapsing, free, closed := e.key(), e.key(), e.key(), e.key()
	opened := time.Now()
	sa := e.session(e.a, ttl)
	e.grant(e.a, sa, lapsing)
	e.release(e.a, sa, e.grant(e.a, sa, free))
	sc := e.session(e.a, ttl)
	e.grant(e.a, sc, closed)
	e.must(e.a.CloseSession(e.ctx, sc), "CloseSession")
	e.that(len(e.lapses) == 0, "first grants tell of the lapses %+v", e.lapses)
	e.sleep(ttl + e.unit)
	sb := e.session(e.b, e.long())
	for _, key := range []string{fresh, lapsing, free, closed} {
		l := e.grant(e.b, sb, key)
		most := time.Since(opened) - ttl
		for _, told := range e.lapses {
			e.that(key == lapsing && told.Key == key && told.Owner == sa.Owner && len(e.lapses) == 1,
				"the grant of %q tells of the lapses %+v; only %q had lapsed, and was %q's", key, e.lapses, lapsing, sa.Owner)
			e.that(told.Ago >= 0 && told.Ago <= most, "the session of %q is told to be over for %v; it was opened %v ago, for %v", key, told.Ago, most+ttl, ttl)
		}
		e.lapses = nil
		e.grant(e.b, sb, key)
		e.that(len(e.lapses) == 0, "a repeated call tells of the lapses %+v", e.lapses)
		e.release(e.b, sb, l)
		e.grant(e.a, e.session(e.a, e.long()), key)
		e.that(len(e.lapses) == 0, "the grant of %q after its release tells of the lapses %+v", key, e.lapses)
	}
}

func o26(e *env) {
	ttl := 4 * e.unit
	sa := e.session(e.a, ttl)
	keys := e.keys(3)
	_, _, err := e.acquire(e.a, sa, keys...)
	e.must(err, "Acquire of 3 keys")
	e.sleep(ttl + e.unit)
	_, _, err = e.acquire(e.b, e.session(e.b, e.long()), keys...)
	e.must(err, "Acquire after the holder lapsed")
	told := map[string]bool{}
	for _, l := range e.lapses {
		told[l.Key] = l.Owner == sa.Owner
	}
	for _, key := range keys {
		e.that(told[key], "the grant of %q after the lapse of %q tells of the lapses %+v", key, sa.Owner, e.lapses)
	}
}
