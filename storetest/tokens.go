package storetest

import (
	"math"
	"sync"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func tokens() []check {
	return []check{
		{id: "T01", name: "tokens_rise_over_releases", run: t01,
			sentence: "Tokens only grow, per key, across releases and closed sessions."},
		{id: "T02", name: "tokens_rise_over_lapses", run: t02, slow: true,
			sentence: "Tokens only grow, per key, across lapses."},
		{id: "T03", name: "tokens_are_exact_and_follow_the_stores_clock", run: t03,
			sentence: "token = max(previous + 1, store time in microseconds), exact to the last digit and at most 2^63-1."},
		{id: "T04", name: "one_winner_per_term_under_contention", run: t04,
			sentence: "Takeover, release and renewal are serialised by the store: at most one session holds a key at any instant."},
		{id: "T05", name: "first_acquire_by_many_has_one_winner", run: t05,
			sentence: "Contention is an answer, never an error, also when many ask at once for a key that never was."},
	}
}

func t01(e *env) {
	sa, sb := e.session(e.a, e.long()), e.session(e.b, e.long())
	k := e.key()
	var last uint64
	for i := range 100 {
		e.renewed(e.a, sa)
		e.renewed(e.b, sb)
		for _, p := range []struct {
			s    Store
			sess lease.Session
		}{{e.a, sa}, {e.b, sb}} {
			l := e.grant(p.s, p.sess, k)
			e.that(l.Token > last, "round %d: the token of %q went from %d to %d", i, k, last, l.Token)
			last = l.Token
			e.release(p.s, p.sess, l)
		}
	}
	l := e.grant(e.a, sa, k)
	e.closeSession(e.a, sa)
	next := e.grant(e.b, sb, k)
	e.that(next.Token > l.Token, "after CloseSession the token of %q went from %d to %d", k, l.Token, next.Token)
}

func t02(e *env) {
	ttl := 2 * e.unit
	k := e.key()
	var last uint64
	for range 3 {
		sa := e.session(e.a, ttl)
		l := e.grant(e.a, sa, k)
		e.that(l.Token > last, "the token of %q went from %d to %d", k, last, l.Token)
		last = l.Token
		e.sleep(ttl + e.unit)
	}
	sb := e.session(e.b, e.long())
	l := e.grant(e.b, sb, k)
	e.that(l.Token > last, "the token of %q went from %d to %d", k, last, l.Token)
}

func t03(e *env) {
	sa := e.session(e.a, e.long())
	for _, k := range e.keys(20) {
		l := e.grant(e.a, sa, k)
		e.that(l.Token <= math.MaxInt64, "token %d does not fit a signed 64-bit column", l.Token)
		// GrantedAt may be coarser than the token's clock, never finer.
		floor := l.GrantedAt.Truncate(time.Millisecond).UnixMicro()
		e.that(floor <= 0 || l.Token >= uint64(floor), "token %d is below the store's time of the grant, %d µs: after a loss of data it could repeat", l.Token, floor)
		again := e.grant(e.b, sa, k)
		e.that(again.Token == l.Token, "asked again, token %d reads %d", l.Token, again.Token)
		for _, d := range []uint64{l.Token - 1, l.Token + 1} {
			near := l
			near.Token = d
			e.lost(e.b, sa, near)
		}
		e.held(e.b, sa, l)
	}
}

// contend lets n workers take a number of steps each, and judges what they saw.
func (e *env) contend(n, steps int, keys []string) {
	e.Helper()
	h := newHistory()
	seed := e.rnd.Uint64()
	workers := make([]*worker, n)
	var wg sync.WaitGroup
	for i := range workers {
		w := e.worker(h, i, seed, e.cfg.MaxTTL)
		workers[i] = w
		wg.Go(func() {
			for range steps {
				if e.ctx.Err() != nil || w.broken != nil {
					return
				}
				w.step(e.ctx, keys)
			}
			w.leave(e.ctx)
		})
	}
	wg.Wait()
	for _, w := range workers {
		e.must(w.broken, "a contender's call")
	}
	e.judge(h)
}

func t04(e *env) { e.contend(32, 40, []string{"the-one"}) }

func t05(e *env) {
	const many = 32
	type answer struct {
		g   lease.Grant
		err error
	}
	for range 3 {
		k := e.key()
		var all [many]lease.Session
		for i := range all {
			all[i] = e.session(e.a, e.long())
		}
		answers := make(chan answer, many)
		start := make(chan struct{})
		for i, s := range all {
			st := e.a
			if i%2 == 1 {
				st = e.b
			}
			go func() {
				<-start
				g, err := st.Acquire(e.ctx, s, []string{k})
				answers <- answer{g, err}
			}()
		}
		close(start)
		won := 0
		for range many {
			a := <-answers
			e.must(a.err, "Acquire beside others")
			e.that(len(a.g.Leases)+len(a.g.Refused) == 1, "Acquire of one key answered %d grants and %d refusals", len(a.g.Leases), len(a.g.Refused))
			won += len(a.g.Leases)
		}
		e.that(won <= 1, "%d sessions won the same key", won)
		for _, s := range all {
			got, _, err := e.acquire(e.b, s, k)
			e.must(err, "Acquire of a held key")
			if won == 0 {
				won += len(got)
			}
		}
		e.that(won == 1, "nobody can have the key %q", k)
	}
}
