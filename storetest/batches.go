package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func batches() []check {
	return []check{
		{id: "B01", name: "batches_of_any_size", run: b01,
			sentence: "Acquire, Verify and Release take any number of keys, none included; each requested key is in exactly one list of the answer."},
		{id: "B02", name: "each_key_of_a_batch_is_decided_alone", run: b02,
			sentence: "Own, free and taken keys in one Acquire are each decided on their own."},
		{id: "B03", name: "an_invalid_key_refuses_the_whole_call", run: b03,
			sentence: "Arguments are checked before anything is done: one invalid key refuses the call with ErrInvalid and nothing is granted."},
		{id: "B04", name: "overlapping_batches_neither_fail_nor_deadlock", run: b04,
			sentence: "Batches that overlap in any order are decided per key, without an error."},
		{id: "B05", name: "batches_beside_churn", run: b05, slow: true, needs: []Capability{Sessions},
			sentence: "Batches, renewals, releases, deaths and takeovers at once leave at most one holder per key, with rising tokens."},
		{id: "B06", name: "each_lease_of_a_verify_or_release_is_judged_alone", run: b06,
			sentence: "Verify and Release judge each lease on its own."},
		{id: "B07", name: "a_key_listed_twice_is_answered_once", run: b07,
			sentence: "Listing a key twice is answered once."},
	}
}

func b01(e *env) {
	sizes := []int{0, 1, 2, 500, 1200}
	if !testing.Short() {
		sizes = append(sizes, 5000)
	}
	for _, n := range sizes {
		e.batch(makeKeys("batch", n))
	}
}

// batch passes the keys from one session to another. Large batches take a while on a slow store, so
// both sessions are renewed at each step.
func (e *env) batch(keys []string) {
	e.Helper()
	n := len(keys)
	sa, sb := e.session(e.a, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	awake := func() { e.renewed(e.a, sa); e.renewed(e.b, sb) }
	got, refused, err := e.acquire(e.a, sa, keys...)
	e.must(err, "Acquire of %d keys", n)
	e.that(len(got) == n && len(refused) == 0, "Acquire of %d free keys granted %d and refused %d", n, len(got), len(refused))
	awake()
	var all []lease.Lease
	for _, k := range keys {
		all = append(all, got[k])
	}
	e.held(e.a, sa, all...)
	awake()
	got, refused, err = e.acquire(e.b, sb, keys...)
	e.must(err, "Acquire of %d taken keys", n)
	e.that(len(got) == 0 && len(refused) == n, "Acquire of %d taken keys granted %d and refused %d", n, len(got), len(refused))
	awake()
	e.release(e.a, sa, all...)
	awake()
	e.lost(e.a, sa, all...)
	awake()
	got, _, err = e.acquire(e.b, sb, keys...)
	e.must(err, "Acquire of %d released keys", n)
	e.that(len(got) == n, "Acquire of %d released keys granted %d", n, len(got))
	e.closeSession(e.b, sb)
}

func b02(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	own, theirs := e.grant(e.a, sa, "own"), e.grant(e.b, sb, "theirs")
	for _, keys := range [][]string{{"own", "theirs", "free-1"}, {"theirs", "free-2", "own"}, {"free-3", "own", "theirs"}} {
		got, refused, err := e.acquire(e.a, sa, keys...)
		e.must(err, "Acquire of %q", keys)
		e.that(len(got) == 2 && len(refused) == 1, "Acquire of %q granted %d and refused %d, want 2 and 1", keys, len(got), len(refused))
		e.that(got["own"].Token == own.Token, "the session's own key changed its token from %d to %d", own.Token, got["own"].Token)
		e.names(refused["theirs"], sb.Owner)
	}
	e.held(e.b, sb, theirs)
}

func b03(e *env) {
	sa := e.session(e.a, e.long())
	for _, bad := range []string{"", "nul\x00", "\xff"} {
		_, err := e.a.Acquire(e.ctx, sa, []string{"good-1", bad, "good-2"})
		e.that(errors.Is(err, lease.ErrInvalid), "Acquire with the key %q among good ones answered %v, want ErrInvalid", bad, err)
		sb := e.session(e.b, e.long())
		got, refused, err := e.acquire(e.b, sb, "good-1", "good-2")
		e.must(err, "Acquire")
		e.that(len(got) == 2, "a refused call granted something: %+v", refused)
		e.closeSession(e.b, sb)
	}
}

func b04(e *env) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	keys := e.keys(60)
	back := slices.Clone(keys)
	slices.Reverse(back)
	sa, sb := e.session(e.a, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	for i := range rounds {
		var ga, gb lease.Grant
		var ea, eb error
		var wg sync.WaitGroup
		wg.Go(func() { ga, ea = e.a.Acquire(e.ctx, sa, keys) })
		wg.Go(func() { gb, eb = e.b.Acquire(e.ctx, sb, back) })
		wg.Wait()
		e.must(errors.Join(ea, eb), "round %d: overlapping batches", i)
		e.that(len(ga.Leases)+len(ga.Refused) == len(keys) && len(gb.Leases)+len(gb.Refused) == len(keys),
			"round %d: of %d keys, %d and %d were answered", i, len(keys), len(ga.Leases)+len(ga.Refused), len(gb.Leases)+len(gb.Refused))
		owner := map[string]bool{}
		for _, l := range slices.Concat(ga.Leases, gb.Leases) {
			e.that(!owner[l.Key], "round %d: %q was granted to both", i, l.Key)
			owner[l.Key] = true
		}
		wg.Go(func() { ea = errors.Join(e.a.Release(e.ctx, sa, ga.Leases), renewErr(e, e.a, sa)) })
		wg.Go(func() { eb = errors.Join(e.b.Release(e.ctx, sb, gb.Leases), renewErr(e, e.b, sb)) })
		wg.Wait()
		e.must(errors.Join(ea, eb), "round %d: overlapping releases and renewals", i)
	}
}

func renewErr(e *env, s lease.Manager, sess lease.Session) error {
	_, err := s.Renew(e.ctx, sess)
	return err
}

// b05 runs for a few units of time, so that sessions of dead workers lapse in it.
func b05(e *env) {
	e.churn(8, 6*e.unit, 2*e.unit, e.keys(12))
}

// churn lets n mortal workers work on the keys for d, and judges what they saw.
func (e *env) churn(n int, d, ttl time.Duration, keys []string) {
	e.Helper()
	h := newHistory()
	seed := e.rnd.Uint64()
	end := time.Now().Add(d)
	workers := make([]*worker, n)
	var wg sync.WaitGroup
	for i := range workers {
		w := e.worker(h, i, seed, ttl)
		w.mortal = true
		workers[i] = w
		wg.Go(func() {
			for time.Now().Before(end) && e.ctx.Err() == nil && w.broken == nil {
				w.step(e.ctx, keys)
				pause(e.ctx, time.Duration(w.rnd.Int64N(int64(e.unit/20))))
			}
		})
	}
	wg.Wait()
	for _, w := range workers {
		e.must(w.broken, "a call in the churn")
	}
	e.judge(h)
}

func b06(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	keep, drop := e.grant(e.a, sa, "keep"), e.grant(e.a, sa, "drop")
	theirs := e.grant(e.b, sb, "theirs")
	old := drop
	old.Token--
	mine := lease.Lease{Key: "theirs", Owner: sa.Owner, Session: sa.ID, Token: theirs.Token}
	v, err := e.a.Verify(e.ctx, sa, []lease.Lease{old, keep, mine, drop})
	e.must(err, "Verify of a mixed batch")
	e.that(len(v.Lost) == 2, "Verify of two held leases among four says lost of %d", len(v.Lost))
	for _, loss := range v.Lost {
		e.that(loss.Lease == old || loss.Lease == mine, "Verify says lost of %+v, which is held", loss.Lease)
	}
	e.release(e.a, sa, mine, drop, old)
	e.held(e.a, sa, keep)
	e.held(e.b, sb, theirs)
	e.grant(e.b, sb, "drop")
	e.refused(e.b, sb, "keep")
	v, err = e.a.Verify(e.ctx, sa, nil)
	e.that(err == nil && len(v.Lost) == 0, "Verify of nothing answered %+v, %v", v, err)
	e.release(e.a, sa)
}

func b07(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	e.grant(e.b, sb, "taken")
	g, err := e.a.Acquire(e.ctx, sa, []string{"free", "taken", "free", "taken", "free"})
	e.must(err, "Acquire of keys listed twice")
	e.that(len(g.Leases) == 1 && len(g.Refused) == 1, "Acquire of one free and one taken key, each listed more than once, granted %d and refused %d; want 1 and 1", len(g.Leases), len(g.Refused))
	e.release(e.a, sa, g.Leases[0], g.Leases[0])
	e.grant(e.b, sb, "free")
}
