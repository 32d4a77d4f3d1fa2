package memory_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/status"
)

func TestGrantAndRefusal(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a, b := e.open("a"), e.open("b")
		l := e.take(a, "k")
		if l.Owner != "a" || l.Session != a.ID || l.Token == 0 || !l.GrantedAt.Equal(time.Now()) {
			e.Fatalf("lease is %+v", l)
		}
		time.Sleep(3 * time.Second)
		equal(e, "the refusal", e.refused(b, "k"), lease.Refusal{Key: "k", Owner: "a", RetryAfter: ttl - 3*time.Second})
		equal(e, "a repeated grant", e.take(a, "k"), l)
		e.renew(a)
		equal(e, "a grant repeated after a renewal", e.take(a, "k"), l)

		g := e.acquire(b, "x", "k", "y", "x")
		if len(g.Leases) != 2 || len(g.Refused) != 1 || g.Incarnation != (lease.Incarnation{Number: 1}) {
			e.Fatalf("a mixed call answered %+v", g)
		}
		equal(e, "an empty call", len(e.acquire(b).Leases), 0)
	})
}

func TestHalfOpenExpiry(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a := e.open("a")
		l := e.take(a, "k")
		time.Sleep(ttl - time.Nanosecond)
		b := e.open("b")
		equal(e, "what is left", e.refused(b, "k").RetryAfter, time.Nanosecond)
		equal(e, "the reason", e.reason(a, l), "")
		time.Sleep(time.Nanosecond)
		_, err := e.Renew(e.ctx, a)
		e.is(err, lease.ErrSessionLapsed)
		if taken := e.take(b, "k"); taken.Token <= l.Token {
			e.Fatalf("token %d after %d", taken.Token, l.Token)
		}
	})
}

func TestRenewalExtendsEveryLease(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a, b := e.open("a"), e.open("b")
		e.acquire(a, "x", "y")
		for range 20 {
			time.Sleep(ttl / 2)
			e.renew(a)
			e.renew(b)
		}
		equal(e, "the number refused", len(e.acquire(b, "x", "y").Refused), 2)
		a.TTL = time.Second // a shorter promise counts from the next renewal
		e.renew(a)
		equal(e, "what is left", e.refused(b, "x").RetryAfter, time.Second)
	})
}

// Failure 33.
func TestLapsedAndClosedSessionsStayOver(t *testing.T) {
	end := map[string]func(e env, s lease.Session){
		"lapsed": func(e env, s lease.Session) { time.Sleep(ttl) },
		"closed": func(e env, s lease.Session) { e.ok(e.CloseSession(e.ctx, s)) },
	}
	for name, end := range end {
		t.Run(name, func(t *testing.T) {
			bubble(t, memory.Config{}, func(e env) {
				a := e.open("a")
				l := e.take(a, "k")
				end(e, a)
				for range 2 { // at once, and at the end of the time for which it is remembered
					_, err := e.OpenSession(e.ctx, a)
					e.is(err, lease.ErrSessionLapsed)
					_, err = e.Acquire(e.ctx, a, []string{"k"})
					e.is(err, lease.ErrSessionLapsed)
					_, err = e.Renew(e.ctx, a)
					e.is(err, lease.ErrSessionLapsed)
					_, err = e.Verify(e.ctx, a, []lease.Lease{l})
					e.is(err, lease.ErrSessionLapsed)
					e.ok(e.Release(e.ctx, a, []lease.Lease{l}))
					e.ok(e.CloseSession(e.ctx, a))
					time.Sleep(lease.DefaultMaxTTL - time.Nanosecond)
				}
				e.take(e.open("b"), "k")
			})
		})
	}
}

// A session that was forgotten may be opened again under its ID, but holds nothing of before.
// Failure 45.
func TestForgottenSessionStartsEmpty(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a := e.open("a")
		l := e.take(a, "k")
		time.Sleep(ttl + 3*lease.DefaultMaxTTL)
		_, err := e.OpenSession(e.ctx, a)
		e.ok(err)
		equal(e, "the reason", e.reason(a, l), lease.ReasonForgotten)
		if again := e.take(a, "k"); again.Token <= l.Token {
			e.Fatalf("token %d after %d", again.Token, l.Token)
		}
	})
}

func TestOpenSessionTwiceExtends(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a, other := e.open("a"), e.open("a")
		l, m := e.take(a, "k"), e.take(other, "m")
		time.Sleep(ttl / 2)
		_, err := e.OpenSession(e.ctx, a)
		e.ok(err)
		e.renew(other)
		time.Sleep(ttl - time.Nanosecond)
		equal(e, "the reason", e.reason(a, l), "")
		equal(e, "the other session's reason", e.reason(other, m), "")
	})
}

// Failure F2.
func TestReleaseMatchesKeySessionAndToken(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a, b := e.open("a"), e.open("b")
		l := e.take(a, "k")
		stale := l
		stale.Token--
		elsewhere := l
		elsewhere.Key = "other"
		e.ok(e.Release(e.ctx, a, []lease.Lease{stale, elsewhere}))
		e.ok(e.Release(e.ctx, b, []lease.Lease{l}))
		equal(e, "the reason after releases that do not match", e.reason(a, l), "")

		e.ok(e.Release(e.ctx, a, []lease.Lease{l, l}))
		equal(e, "the reason after the release", e.reason(a, l), lease.ReasonForgotten)
		next := e.take(b, "k")
		e.ok(e.Release(e.ctx, a, []lease.Lease{l})) // late: not ours any more
		equal(e, "the next holder's reason", e.reason(b, next), "")
		equal(e, "the former holder's reason", e.reason(a, l), lease.ReasonTaken)
	})
}

func TestCloseFreesAtOnce(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a, b := e.open("a"), e.open("b")
		e.acquire(a, "x", "y")
		e.ok(e.CloseSession(e.ctx, lease.NewSession("c", ttl))) // unknown: no error
		e.ok(e.CloseSession(e.ctx, a))
		equal(e, "the number granted", len(e.acquire(b, "x", "y").Leases), 2)
		e.ok(e.CloseSession(e.ctx, a))
		equal(e, "the number held", len(e.acquire(b, "x", "y").Leases), 2)
	})
}

// The clock stands still in a bubble, so the floor alone must raise these.
func TestTokensRise(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		sessions := []lease.Session{e.open("a"), e.open("b")}
		last := uint64(time.Now().UnixMicro()) - 1
		for i := range 200 {
			l := e.take(sessions[i%2], "k")
			if l.Token <= last {
				e.Fatalf("token %d after %d", l.Token, last)
			}
			last = l.Token
			e.ok(e.Release(e.ctx, sessions[i%2], []lease.Lease{l}))
		}
		time.Sleep(time.Second)
		equal(e, "a later token", e.take(sessions[0], "k").Token, uint64(time.Now().UnixMicro()))
	})
}

// Failure 41.
func TestRevoke(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a, b := e.open("a"), e.open("b")
		l, kept := e.take(a, "k"), e.take(a, "kept")
		e.ok(e.Revoke(e.ctx, "free"))
		equal(e, "the first revision", e.renew(a).Revision, 0)
		time.Sleep(4 * time.Second)
		e.ok(e.Revoke(e.ctx, "k"))
		equal(e, "the revision", e.renew(a).Revision, 1)
		e.renew(b)
		equal(e, "the revoked lease's reason", e.reason(a, l), lease.ReasonRevoked)
		equal(e, "the other lease's reason", e.reason(a, kept), "")
		// The renewal above does not keep the key: it is free when the session would have ended.
		want := lease.Refusal{Key: "k", Owner: "a", RetryAfter: ttl - 4*time.Second}
		equal(e, "the other's refusal", e.refused(b, "k"), want)
		equal(e, "the holder's refusal", e.refused(a, "k"), want)
		time.Sleep(time.Second)
		e.ok(e.Revoke(e.ctx, "k")) // twice: moves nothing
		equal(e, "the revision after a second call", e.renew(a).Revision, 1)
		time.Sleep(want.RetryAfter - time.Second - time.Nanosecond)
		equal(e, "what is left", e.refused(b, "k").RetryAfter, time.Nanosecond)
		held, err := e.Leases(e.ctx)
		e.ok(err)
		if !slices.Equal(held, []lease.Lease{l, kept}) {
			e.Fatalf("leases are %v", held)
		}
		time.Sleep(time.Nanosecond)
		equal(e, "the holder's reason when the key is free", e.reason(a, l), lease.ReasonRevoked)
		taken := e.take(b, "k")
		if taken.Token <= l.Token {
			e.Fatalf("token %d after %d", taken.Token, l.Token)
		}
		equal(e, "the former holder's reason", e.reason(a, l), lease.ReasonTaken)
		equal(e, "the other lease's reason", e.reason(a, kept), "")
	})
}

func TestRevokedKeyIsFreeAfterTheHoldersRelease(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a, b := e.open("a"), e.open("b")
		l := e.take(a, "k")
		e.ok(e.Revoke(e.ctx, "k"))
		e.ok(e.Release(e.ctx, a, []lease.Lease{l}))
		again := e.take(a, "k")
		if again.Token <= l.Token {
			e.Fatalf("token %d after %d", again.Token, l.Token)
		}
		e.ok(e.Revoke(e.ctx, "k"))
		e.ok(e.CloseSession(e.ctx, a))
		e.take(b, "k")
	})
}

func TestLeasesListsWhatIsHeld(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a, b := e.open("a"), e.open("b")
		var want []lease.Lease
		for i := range 30 {
			want = append(want, e.take(a, fmt.Sprintf("k%02d", i)))
		}
		e.ok(e.Release(e.ctx, a, []lease.Lease{e.take(a, "released")}))
		c := e.open("c")
		e.take(c, "closed")
		e.ok(e.CloseSession(e.ctx, c))
		e.take(b, "lapsed")
		time.Sleep(ttl / 2)
		e.renew(a)
		time.Sleep(ttl / 2)
		held, err := e.Leases(e.ctx)
		e.ok(err)
		if !slices.Equal(held, want) {
			e.Fatalf("leases are %v", held)
		}
	})
}

// Returned slices are the caller's: scribbling on one changes nothing in the store.
func TestAnswersShareNoMemory(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a := e.open("a")
		g := e.acquire(a, "k")
		l := g.Leases[0]
		g.Leases[0] = lease.Lease{}
		held, err := e.Leases(e.ctx)
		e.ok(err)
		held[0].Token = 0
		equal(e, "the lease", e.take(a, "k"), l)
	})
}

// Keys are compared byte for byte.
// Failure 73.
func TestOddKeysAreDistinct(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a := e.open("a")
		keys := []string{"k", "K", " k", "k ", "k:", "é", "e\u0301", "{k}", "*", "k/", "\x01", "k'"}
		equal(e, "the number granted", len(e.acquire(a, keys...).Leases), len(keys))
		equal(e, "the number refused", len(e.acquire(e.open("b"), keys...).Refused), len(keys))
	})
}

func TestConcurrentAcquireHasOneWinner(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		for range 50 {
			var wg sync.WaitGroup
			won := make(chan lease.Session, 32)
			for range cap(won) {
				s := e.open("a")
				wg.Go(func() {
					if g, err := e.Acquire(e.ctx, s, []string{"k"}); err == nil && len(g.Leases) == 1 {
						won <- s
					}
				})
			}
			wg.Wait()
			equal(e, "the number of winners", len(won), 1)
			e.ok(e.CloseSession(e.ctx, <-won))
		}
	})
}

// Failure 75.
func TestSweepKeepsGarbageBounded(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		keep := e.open("keeper")
		kept := e.take(keep, "kept")
		for i := range 1000 {
			time.Sleep(time.Second)
			s := e.open("a")
			e.take(s, fmt.Sprint("lapses ", i))
			l := e.take(keep, fmt.Sprint("released ", i))
			e.ok(e.Release(e.ctx, keep, []lease.Lease{l}))
			e.put(instance.ID(s.ID), rec(s.ID, 1, status.Active))
			e.renew(keep)
		}
		sessions, leases, statuses, _ := e.Kept()
		if sessions > 60 || leases > 80 || statuses > 40 {
			e.Fatalf("%d sessions, %d lease records and %d statuses are kept", sessions, leases, statuses)
		}
		equal(e, "the kept lease's reason", e.reason(keep, kept), "")
	})
}
