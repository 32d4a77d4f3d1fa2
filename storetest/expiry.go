package storetest

import (
	"errors"
	"math"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func expiry() []check {
	return []check{
		{id: "X01", name: "not_free_before_the_ttl_and_free_after", run: x01, slow: true,
			sentence: "A session's keys stay taken until its TTL has run out by the store's clock, and are free then."},
		{id: "X03", name: "ttl_below_a_millisecond_is_refused", run: x03,
			sentence: "A TTL below 1 ms is refused with ErrInvalid, before anything is stored."},
		{id: "X04", name: "ttl_is_never_rounded_down", run: x04,
			sentence: "Stores round a TTL up to their unit, never down."},
		{id: "X05", name: "ttl_has_an_upper_bound", run: x05, needs: []Capability{Sessions},
			sentence: "A TTL up to the fleet's MaxTTL lasts that long; a longer one is refused with ErrInvalid."},
		{id: "X06", name: "renewal_takes_a_longer_ttl", run: x06, slow: true,
			sentence: "Renew extends the session to the TTL that it is given, from now."},
		{id: "X07", name: "client_clocks_do_not_matter", run: x07, slow: true, needs: []Capability{CanSkew},
			sentence: "Every expiry is judged by the store's clock, never by a client's."},
		{id: "X08", name: "a_step_of_the_stores_clock_lowers_no_token", run: x08, needs: []Capability{CanStep},
			sentence: "Tokens only grow, also where the store's clock steps back."},
		{id: "X09", name: "retry_after_is_the_moment_to_try_again", run: x09, slow: true,
			sentence: "RetryAfter is what the owner's session has left: a try at that moment is granted."},
		{id: "X11", name: "shortest_ttl_is_a_real_session", run: x11,
			sentence: "A grant under the shortest TTL is exclusive for that TTL: never granted without a record."},
	}
}

// precision is how much a store's clock may be coarser than the client's.
func (e *env) precision() time.Duration { return e.unit / 1000 }

// grace is how late a client must be to be surely past a moment of the store's clock.
func (e *env) grace() time.Duration {
	if e.cfg.Bubble != nil {
		return 0 // virtual time stands still during a call
	}
	return e.unit / 40
}

func x01(e *env) { e.takeover(5*e.unit + e.unit/2 + 999*time.Microsecond) }

// takeover lets b ask for a's key all the time, and checks when it gets it.
func (e *env) takeover(ttl time.Duration) {
	e.Helper()
	var sa lease.Session
	life := timed(ttl, func() { sa = e.session(e.a, ttl) })
	sb := e.session(e.b, e.long())
	old := e.grant(e.a, sa, e.key())
	for {
		sent := time.Now()
		got, _, err := e.acquire(e.b, sb, old.Key)
		e.must(err, "Acquire of a held key")
		now := time.Now()
		if l, ok := got[old.Key]; ok {
			e.unstepped(life)
			e.that(!now.Before(life.earliest.Add(-e.precision())), "%q was granted to another %v before the session of %v can have run out", old.Key, life.earliest.Sub(now), ttl)
			e.that(l.Token > old.Token, "the takeover of %q has token %d, want above %d", old.Key, l.Token, old.Token)
			break
		}
		e.that(sent.Before(life.latest.Add(e.unit)), "%q is still refused %v after the session of %v ran out", old.Key, sent.Sub(life.latest), ttl)
		e.sleep(e.unit / 20)
	}
	if e.has(Sessions) {
		e.over(e.a, sa, old)
	}
}

func x03(e *env) {
	for _, ttl := range []time.Duration{0, -1, -time.Second, 1, time.Microsecond, 999 * time.Microsecond, math.MinInt64} {
		s := lease.NewSession(e.owner(), ttl)
		_, err := e.a.OpenSession(e.ctx, s)
		e.that(errors.Is(err, lease.ErrInvalid), "OpenSession with a TTL of %v answered %v, want ErrInvalid", ttl, err)
		if !e.has(Sessions) {
			continue
		}
		s.TTL = e.long()
		_, err = e.a.Acquire(e.ctx, s, []string{e.key()})
		e.lapsed(err, "Acquire (after OpenSession was refused)")
	}
}

func x04(e *env) {
	for i := range 5 {
		ttl := e.unit/2 + time.Duration(i)*time.Millisecond + 999*time.Microsecond
		var sa lease.Session
		life := timed(ttl, func() { sa = e.session(e.a, ttl) })
		sb := e.session(e.b, e.long())
		l := e.grant(e.a, sa, e.key())
		e.sleepUntil(life.earliest.Add(-2 * e.precision()))
		g, err := e.b.Acquire(e.ctx, sb, []string{l.Key})
		e.must(err, "Acquire of a held key")
		now := time.Now()
		if len(g.Leases) > 0 && now.Before(life.earliest.Add(-e.precision())) {
			e.Fatalf("a session with a TTL of %v had lapsed after %v", ttl, ttl-life.earliest.Sub(now))
		}
	}
}

func x05(e *env) {
	most := e.cfg.MaxTTL
	var sa lease.Session
	life := timed(most, func() { sa = e.session(e.a, most) })
	sb := e.session(e.b, e.long())
	l := e.grant(e.a, sa, e.key())
	before := time.Now()
	r := e.refused(e.b, sb, l.Key)
	least, atMost := time.Until(life.earliest), life.latest.Sub(before)
	e.that(r.RetryAfter >= least-e.unit && r.RetryAfter <= atMost+e.unit,
		"a session of %v leaves %v to wait, want between %v and %v", most, r.RetryAfter, least-e.unit, atMost+e.unit)
	for _, ttl := range []time.Duration{most + 1, most + time.Second, 24*time.Hour + 1, 100 * 365 * 24 * time.Hour, math.MaxInt64} {
		_, err := e.a.OpenSession(e.ctx, lease.NewSession(e.owner(), ttl))
		e.that(errors.Is(err, lease.ErrInvalid), "OpenSession with a TTL of %v, above MaxTTL %v, answered %v, want ErrInvalid", ttl, most, err)
	}
}

func x06(e *env) {
	short, longer := 3*e.unit, 8*e.unit
	sa, sb := e.session(e.a, short), e.session(e.b, e.long())
	l := e.grant(e.a, sa, e.key())
	sa.TTL = longer
	life := timed(longer, func() { e.renewed(e.a, sa) })
	e.sleep(5 * e.unit)
	got, _, err := e.acquire(e.b, sb, l.Key)
	e.must(err, "Acquire")
	e.that(len(got) == 0 || !time.Now().Before(life.earliest), "renewed for %v, the session lapsed after %v", longer, short)
	e.sleepUntil(life.latest.Add(e.unit))
	e.grant(e.b, sb, l.Key)
}

func x07(e *env) {
	for _, off := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		e.cfg.Faults.Skew(e.t, e.a, off)
		e.cfg.Faults.Skew(e.t, e.b, -off)
		e.takeover(4 * e.unit)
		sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
		l := e.grant(e.a, sa, e.key())
		r := e.refused(e.b, sb, l.Key)
		e.that(r.RetryAfter <= e.long()+e.unit, "with a client clock off by %v the refusal says to retry after %v", off, r.RetryAfter)
		e.each(func(s Store) { e.held(s, sa, l) })
		e.release(e.b, sa, l)
		e.closeSession(e.a, sa)
		next := e.grant(e.b, sb, l.Key)
		e.that(next.Token > l.Token, "with a client clock off by %v the token went from %d to %d", off, l.Token, next.Token)
	}
}

func x08(e *env) {
	k := e.key()
	var last uint64
	for _, d := range []time.Duration{0, -5 * e.unit, 5 * e.unit, -8 * e.unit} {
		e.cfg.Faults.Step(e.t, e.a, d)
		sa := e.session(e.a, e.cfg.MaxTTL)
		e.thawed(e.a, sa) // a step back may bring a freeze back for as long
		l := e.grant(e.a, sa, k)
		e.that(l.Token > last, "after a step of the store's clock by %v the token of %q went from %d to %d", d, k, last, l.Token)
		last = l.Token
		e.release(e.a, sa, l)
	}
}

func x09(e *env) {
	ttl := 4 * e.unit
	sa, sb := e.session(e.a, ttl), e.session(e.b, e.long())
	l := e.grant(e.a, sa, e.key())
	e.sleep(e.unit)
	r := e.refused(e.b, sb, l.Key)
	// The refusal was made before now, so this moment is past the expiry that it told.
	e.sleep(r.RetryAfter + e.grace())
	got, refused, err := e.acquire(e.b, sb, l.Key)
	e.must(err, "Acquire after RetryAfter")
	e.that(len(got) == 1, "told to retry %q after %v, the try at that moment was refused again: %+v", l.Key, r.RetryAfter, refused[l.Key])
}

func x11(e *env) {
	for i := range 10 {
		ttl := time.Millisecond + time.Duration(i%3)*250*time.Microsecond
		var sa lease.Session
		life := timed(ttl, func() { sa = e.session(e.a, ttl) })
		sb := e.session(e.b, e.long())
		k := e.key()
		g, err := e.a.Acquire(e.ctx, sa, []string{k})
		if errors.Is(err, lease.ErrSessionLapsed) && !time.Now().Before(life.earliest) {
			continue // the machine was slower than the TTL
		}
		e.must(err, "Acquire under a TTL of %v", ttl)
		e.that(len(g.Leases) == 1, "Acquire of a free key under a TTL of %v was not granted: %+v", ttl, g.Refused)
		other, err := e.b.Acquire(e.ctx, sb, []string{k})
		e.must(err, "Acquire of a key held for %v", ttl)
		e.that(len(other.Leases) == 0 || !time.Now().Before(life.earliest.Add(-e.precision())),
			"%q was granted under a TTL of %v and taken by another before it can have run out", k, ttl)
		e.sleepUntil(life.latest.Add(e.unit / 4))
		e.grant(e.b, sb, k)
	}
}
