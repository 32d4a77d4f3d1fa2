package memory_test

import (
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

const freeze = lease.DefaultMaxTTL

var guarded = memory.Config{Incarnations: true}

// provisioned runs f on a fleet that is past its set-up and not frozen.
func provisioned(t *testing.T, f func(e env)) {
	t.Helper()
	bubble(t, guarded, func(e env) {
		e.ok(e.Provision(e.ctx))
		f(e)
	})
}

func TestFirstStartFreezesUnlessProvisioned(t *testing.T) {
	bubble(t, guarded, func(e env) {
		start := uint64(time.Now().UnixMicro())
		_, err := e.Heartbeat(e.ctx, member("a"), ttl, 0) // membership is no lease call
		e.ok(err)
		time.Sleep(time.Second)
		in, err := e.OpenSession(e.ctx, lease.NewSession("b", ttl))
		e.ok(err)
		equal(e, "the incarnation", in, lease.Incarnation{Number: start + 1e6, FrozenFor: freeze})
		e.ok(e.Provision(e.ctx)) // too late: the fleet exists
		time.Sleep(freeze - time.Nanosecond)
		a := e.open("a")
		equal(e, "the refusal", e.refused(a, "k"), lease.Refusal{Key: "k", Busy: true, RetryAfter: time.Nanosecond})
		time.Sleep(time.Nanosecond)
		e.take(a, "k")
		equal(e, "the incarnation", e.renew(a).Incarnation, lease.Incarnation{Number: in.Number})
	})
	provisioned(t, func(e env) {
		a := e.open("a")
		e.take(a, "k")
		equal(e, "the freeze", e.renew(a).Incarnation.FrozenFor, 0)
		e.ok(e.Provision(e.ctx))
		equal(e, "the number", e.renew(a).Incarnation.Number, uint64(time.Now().UnixMicro()))
	})
}

// The holder rides out a wipe: it renews, verifies and keeps its lease and its token.
func TestWipeKeepsLivingHolders(t *testing.T) {
	provisioned(t, func(e env) {
		a, b := e.open("a"), e.open("b")
		l := e.take(a, "k")
		before := e.renew(a).Incarnation.Number
		e.Restore(nil)
		_, err := e.Acquire(e.ctx, a, []string{"k"}) // no proof that the session lapsed
		e.is(err, lease.ErrUnavailable)
		_, err = e.Verify(e.ctx, a, []lease.Lease{l})
		e.is(err, lease.ErrUnavailable)
		in := e.renew(a).Incarnation
		if in.Number <= before || in.FrozenFor != freeze {
			e.Fatalf("incarnation is %+v after %d", in, before)
		}
		e.renew(b)
		equal(e, "the refusal of a held key", e.refused(b, "k"), lease.Refusal{Key: "k", Busy: true, RetryAfter: freeze})
		equal(e, "the holder's reason", e.reason(a, l), "")
		equal(e, "the holder's grant", e.take(a, "k"), l)
		for range 4 {
			time.Sleep(freeze / 4)
			e.renew(a)
			e.renew(b)
		}
		equal(e, "the refusal after the freeze", e.refused(b, "k").Owner, "a")
		e.ok(e.Release(e.ctx, a, []lease.Lease{l}))
		if next := e.take(b, "k"); next.Token <= l.Token {
			e.Fatalf("token %d after %d", next.Token, l.Token)
		}
	})
}

// What nobody verified is free after the freeze, and its next grant has a new token, even for
// the same session.
func TestRecordsOfAnEarlierIncarnationDoNotCount(t *testing.T) {
	provisioned(t, func(e env) {
		a, b := e.open("a"), e.open("b")
		x, y := e.take(a, "x"), e.take(a, "y")
		e.Restore(e.Snapshot())
		e.renew(a)
		equal(e, "the refusal in the freeze", e.refused(a, "x"), lease.Refusal{Key: "x", Busy: true, RetryAfter: freeze})
		held, err := e.Leases(e.ctx)
		e.ok(err)
		equal(e, "the number of leases that count", len(held), 0)
		for range 3 {
			time.Sleep(freeze / 3)
			e.renew(a)
			e.renew(b)
		}
		equal(e, "the reason after the freeze", e.reason(a, x), lease.ReasonForgotten)
		if again := e.take(a, "x"); again.Token <= x.Token {
			e.Fatalf("token %d after %d", again.Token, x.Token)
		}
		if taken := e.take(b, "y"); taken.Token <= y.Token {
			e.Fatalf("token %d after %d", taken.Token, y.Token)
		}
		equal(e, "the reason", e.reason(a, y), lease.ReasonTaken)
	})
}

// An old snapshot knows the previous holder; the present one knows better, in either order.
func TestNewerTermWinsTheFreeze(t *testing.T) {
	for _, olderFirst := range []bool{true, false} {
		provisioned(t, func(e env) {
			a, b := e.open("a"), e.open("b")
			older := e.take(a, "k")
			old := e.Snapshot()
			e.ok(e.Release(e.ctx, a, []lease.Lease{older}))
			newer := e.take(b, "k")
			e.Restore(old)
			e.renew(a)
			e.renew(b)
			if olderFirst {
				equal(e, "the older term's reason", e.reason(a, older), "") // a late call of before
			}
			equal(e, "the newer term's reason", e.reason(b, newer), "")
			equal(e, "the older term's reason", e.reason(a, older), lease.ReasonTaken)
			equal(e, "the newer term's reason again", e.reason(b, newer), "")
		})
	}
}

func TestFrozenReleaseIsNotWrittenAgain(t *testing.T) {
	provisioned(t, func(e env) {
		a := e.open("a")
		l, kept, gone := e.take(a, "k"), e.take(a, "kept"), e.take(a, "gone")
		e.ok(e.Revoke(e.ctx, "gone"))
		e.Restore(e.Snapshot())
		e.renew(a)
		e.ok(e.Release(e.ctx, a, []lease.Lease{l}))
		equal(e, "the released lease's reason", e.reason(a, l), lease.ReasonForgotten) // a late Verify
		equal(e, "the revoked lease's reason", e.reason(a, gone), lease.ReasonRevoked)
		equal(e, "the kept lease's reason", e.reason(a, kept), "")
		time.Sleep(freeze / 2)
		e.renew(a)
		time.Sleep(freeze / 2)
		b := e.open("b")
		equal(e, "the number granted", len(e.acquire(b, "k", "gone", "kept").Leases), 2)
	})
}

// The same where the time for clearing away comes in the middle of the freeze.
func TestNothingIsClearedAwayInAFreeze(t *testing.T) {
	provisioned(t, func(e env) {
		a := e.open("a")
		l := e.take(a, "k")
		time.Sleep(freeze / 2)
		e.Restore(e.Snapshot())
		e.renew(a)
		e.ok(e.Release(e.ctx, a, []lease.Lease{l}))
		time.Sleep(freeze * 3 / 4)
		e.renew(a)
		equal(e, "the released lease's reason", e.reason(a, l), lease.ReasonForgotten)
	})
}

// While frozen even a lapsed session goes on; afterwards it is over for good.
func TestSessionsInAFreeze(t *testing.T) {
	provisioned(t, func(e env) {
		a, b := e.open("a"), e.open("b")
		l := e.take(a, "k")
		time.Sleep(ttl)
		e.Restore(e.Snapshot())
		e.renew(a)
		equal(e, "the reason", e.reason(a, l), "")
		_, err := e.OpenSession(e.ctx, b)
		e.ok(err)
		time.Sleep(freeze)
		_, err = e.Renew(e.ctx, a)
		e.is(err, lease.ErrSessionLapsed)
		_, err = e.OpenSession(e.ctx, b)
		e.is(err, lease.ErrSessionLapsed)
	})
}

// Tokens and incarnation numbers rise through every loss, also where no time passes.
// Failure 57.
func TestNumbersRiseThroughLosses(t *testing.T) {
	provisioned(t, func(e env) {
		empty := e.Snapshot()
		var token, number uint64
		for i := range 20 {
			if i%2 == 0 {
				e.Restore(nil)
			} else {
				e.Restore(empty)
			}
			s := e.open("a")
			in := e.renew(s).Incarnation
			if in.Number <= number {
				e.Fatalf("incarnation %d after %d", in.Number, number)
			}
			number = in.Number
			if i%5 != 0 {
				continue
			}
			time.Sleep(ttl - 1)
			e.renew(s)
			time.Sleep(ttl - 1)
			if l := e.take(s, "k"); l.Token <= token {
				e.Fatalf("token %d after %d", l.Token, token)
			} else {
				token = l.Token
			}
		}
	})
}

// A re-asserted token of the future (the clock stepped back) still lies below the next grant.
func TestReassertionRaisesTheFloor(t *testing.T) {
	provisioned(t, func(e env) {
		a := e.open("a")
		l := e.take(a, "k")
		l.Token += 1e12
		e.Restore(nil)
		e.renew(a)
		equal(e, "the reason", e.reason(a, l), "")
		time.Sleep(freeze)
		if next := e.take(e.open("b"), "k"); next.Token != l.Token+1 {
			e.Fatalf("token %d after %d", next.Token, l.Token)
		}
	})
}

func TestUnguardedStoreForgetsSilently(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a := e.open("a")
		snap := e.Snapshot()
		l := e.take(a, "k")
		e.Restore(snap)
		equal(e, "the reason", e.reason(a, l), lease.ReasonForgotten)
		equal(e, "the incarnation", e.renew(a).Incarnation, lease.Incarnation{Number: 1})
		e.Restore(nil)
		_, err := e.Renew(e.ctx, a)
		e.is(err, lease.ErrSessionLapsed)
		e.take(e.open("b"), "k")
		e.ok(e.Provision(e.ctx))
	})
}

// Restoring a snapshot twice gives the same twice: running on one does not change it.
func TestSnapshotIsACopy(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		a := e.open("a")
		l := e.take(a, "k")
		snap := e.Snapshot()
		for range 2 {
			e.Restore(snap)
			equal(e, "the reason", e.reason(a, l), "")
			e.ok(e.CloseSession(e.ctx, a))
			e.take(e.open("b"), "k")
		}
	})
}
