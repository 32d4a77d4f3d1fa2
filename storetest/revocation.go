package storetest

import (
	"time"

	"github.com/tenure-go/tenure/lease"
)

func revocation() []check {
	revoke := []Capability{Revokes}
	return []check{
		{id: "R01", name: "revoke_is_told_to_the_holder", run: r01, needs: revoke,
			sentence: "Revoke raises the session's revision, which Renew reports, and Verify answers the lease as lost, with ReasonRevoked."},
		{id: "R02", name: "a_revoked_key_is_not_free_at_once", run: r02, needs: revoke,
			sentence: "A revoked key is grantable only after its holder's release, or at that session's expiry as it stood; then it is."},
		{id: "R03", name: "renewals_do_not_keep_a_revoked_key", run: r03, needs: revoke, slow: true,
			sentence: "A revoked key is grantable at its session's expiry as it stood when it was revoked, whatever the session did since."},
		{id: "R04", name: "the_holder_does_not_get_it_back", run: r04, needs: revoke, slow: true,
			sentence: "The holder's own repeated Acquire of a revoked key is refused until it is grantable; then it is a new term."},
		{id: "R05", name: "revoking_is_repeatable_and_exact", run: r05, needs: revoke, slow: true,
			sentence: "Revoking a free key or revoking twice is no error and moves nothing; other keys are left alone."},
		{id: "R06", name: "the_revision_is_calm_without_revocations", run: r06,
			sentence: "The revision rises only when a lease of the session was revoked."},
	}
}

func (e *env) revoke(s Store, key string) {
	e.Helper()
	e.must(s.(lease.Revoker).Revoke(e.ctx, key), "Revoke of %q", key)
}

func r01(e *env) {
	sess := e.session(e.a, e.cfg.MaxTTL)
	one, two := e.grant(e.a, sess, e.key()), e.grant(e.a, sess, e.key())
	revision := e.renewed(e.a, sess).Revision
	for _, l := range []lease.Lease{one, two} {
		e.revoke(e.b, l.Key)
		r := e.renewed(e.a, sess)
		e.that(r.Revision > revision, "after Revoke the revision is %d, was %d", r.Revision, revision)
		revision = r.Revision
		loss := e.lost(e.a, sess, l)[0]
		e.that(loss.Reason == lease.ReasonRevoked && loss.Lease == l, "Verify of a revoked lease says %+v, want it with reason %q", loss, lease.ReasonRevoked)
	}
}

func r02(e *env) {
	sa, sb := e.session(e.a, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	l := e.grant(e.a, sa, e.key())
	e.revoke(e.b, l.Key)
	r := e.refused(e.b, sb, l.Key)
	e.that(r.Owner == sa.Owner, "a revoked key is refused for the owner %q, want %q, who may still be working", r.Owner, sa.Owner)
	e.release(e.a, sa, l)
	next := e.grant(e.b, sb, l.Key)
	e.that(next.Token > l.Token, "after a revocation the token of %q went from %d to %d", l.Key, l.Token, next.Token)
	e.held(e.b, sb, next)
}

func r03(e *env) {
	ttl := 4 * e.unit
	var sa lease.Session
	life := timed(ttl, func() { sa = e.session(e.a, ttl) })
	sb := e.session(e.b, e.cfg.MaxTTL)
	gone, kept := e.grant(e.a, sa, "gone"), e.grant(e.a, sa, "kept")
	e.revoke(e.b, "gone")
	for {
		e.renewed(e.a, sa)
		sent := time.Now()
		got, _, err := e.acquire(e.b, sb, "gone")
		e.must(err, "Acquire of a revoked key")
		now := time.Now()
		if l, ok := got["gone"]; ok {
			e.that(!now.Before(life.earliest.Add(-e.precision())), "the revoked key was granted %v before its holder's expiry", life.earliest.Sub(now))
			e.that(l.Token > gone.Token, "the token of the revoked key went from %d to %d", gone.Token, l.Token)
			break
		}
		e.that(sent.Before(life.latest.Add(e.unit)), "the revoked key is still refused %v after its holder's expiry as it stood", sent.Sub(life.latest))
		e.sleep(e.unit / 10)
	}
	e.lost(e.a, sa, gone)
	e.held(e.a, sa, kept)
	e.release(e.a, sa, gone)
	e.refused(e.a, sa, "gone")
}

func r04(e *env) {
	ttl := 4 * e.unit
	var sa lease.Session
	life := timed(ttl, func() { sa = e.session(e.a, ttl) })
	l := e.grant(e.a, sa, e.key())
	e.revoke(e.b, l.Key)
	for time.Now().Before(life.earliest.Add(-e.unit)) {
		e.renewed(e.a, sa)
		got, _, err := e.acquire(e.a, sa, l.Key)
		e.must(err, "Acquire of the session's own revoked key")
		e.that(len(got) == 0 || !time.Now().Before(life.earliest), "the holder got its revoked key back")
		e.sleep(e.unit / 4)
	}
	e.renewed(e.a, sa)
	e.sleepUntil(life.latest.Add(e.unit))
	e.renewed(e.a, sa)
	again := e.grant(e.a, sa, l.Key)
	e.that(again.Token > l.Token, "granted anew, the revoked key kept token %d", again.Token)
	e.held(e.a, sa, again)
}

func r05(e *env) {
	ttl := 4 * e.unit
	var sa lease.Session
	life := timed(ttl, func() { sa = e.session(e.a, ttl) })
	sb := e.session(e.b, e.cfg.MaxTTL)
	l, other := e.grant(e.a, sa, "revoked"), e.grant(e.a, sa, "revoked-not")
	e.release(e.a, sa, e.grant(e.a, sa, "free"))
	e.revoke(e.b, "free")
	e.revoke(e.b, "never-granted")
	for _, k := range []string{"free", "never-granted"} {
		e.held(e.b, sb, e.grant(e.b, sb, k))
	}
	e.revoke(e.b, "revoked")
	for time.Now().Before(life.earliest.Add(-e.unit)) {
		e.renewed(e.a, sa)
		e.revoke(e.b, "revoked") // must not move the moment to the renewed expiry
		e.sleep(e.unit / 4)
	}
	e.renewed(e.a, sa)
	e.held(e.a, sa, other)
	e.sleepUntil(life.latest.Add(e.unit))
	e.renewed(e.a, sa)
	next := e.grant(e.b, sb, "revoked")
	e.that(next.Token > l.Token, "the token of the revoked key went from %d to %d", l.Token, next.Token)
	e.held(e.a, sa, other)
}

func r06(e *env) {
	sa, sb := e.session(e.a, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	revision := e.renewed(e.a, sa).Revision
	e.release(e.a, sa, e.grant(e.a, sa, "once"))
	e.grant(e.b, sb, "theirs")
	e.refused(e.a, sa, "theirs")
	if r, ok := e.a.(lease.Revoker); ok {
		e.must(r.Revoke(e.ctx, "theirs"), "Revoke of another's key")
	}
	for range 5 {
		now := e.renewed(e.b, sa).Revision
		e.that(now == revision, "nothing of the session was revoked, and its revision went from %d to %d", revision, now)
	}
}
