package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// record is the last lease of a key. It counts only in the incarnation that it was granted or
// verified in. Session is empty once the holder has let go; the token stays, as a memory of that.
type record struct {
	lease.Lease
	incarnation  uint64
	revokedUntil time.Time // zero: not revoked
}

// left is how long the key stays taken unless its session is renewed: 0 where it is free.
func (f *fleet) left(r record, now time.Time, in lease.Incarnation) time.Duration {
	if r.incarnation != in.Number {
		return 0
	}
	ends := f.sessions[r.Session].expires // zero where the session is forgotten or the record is free
	if !r.revokedUntil.IsZero() && r.revokedUntil.Before(ends) {
		ends = r.revokedUntil // renewals after a revocation do not keep the key
	}
	return max(0, ends.Sub(now))
}

// lapsed adds what ended the key's last term, where its session ran out.
func (f *fleet) lapsed(g *lease.Grant, r record, now time.Time) {
	s, known := f.sessions[r.Session] // none where the record is free
	if known && !s.closed && r.revokedUntil.IsZero() && r.incarnation == g.Incarnation.Number {
		g.Lapses = append(g.Lapses, lease.Lapse{Key: r.Key, Owner: r.Owner, Ago: now.Sub(s.expires)})
	}
}

// Acquire implements lease.Manager. It answers in the order of keys.
func (s *Store) Acquire(ctx context.Context, sess lease.Session, keys []string) (g lease.Grant, err error) {
	err = s.do(ctx, "acquire", cmp.Or(s.check(sess), checkKeys(keys)), func(now time.Time) error {
		in := s.incarnation(now)
		g.Incarnation = in
		if err := s.alive(sess, now, in); err != nil {
			return err
		}
		for _, key := range unique(slices.Values(keys)) {
			r := s.leases[key]
			left := s.left(r, now, in)
			switch {
			case left > 0 && r.Session == sess.ID && r.revokedUntil.IsZero():
				g.Leases = append(g.Leases, r.Lease) // a repeated call: the same token
			case in.FrozenFor > 0:
				g.Refused = append(g.Refused, lease.Refusal{Key: key, Busy: true, RetryAfter: in.FrozenFor})
			case left > 0:
				g.Refused = append(g.Refused, lease.Refusal{Key: key, Owner: r.Owner, RetryAfter: left})
			default:
				s.lapsed(&g, r, now)
				g.Leases = append(g.Leases, s.grant(sess, key, now, in))
			}
		}
		return nil
	})
	return g, err
}

// grant writes a new lease. The floor keeps the token above every earlier one of the key where the
// clock stood still or stepped back; the clock does where the floor was lost.
func (f *fleet) grant(sess lease.Session, key string, now time.Time, in lease.Incarnation) lease.Lease {
	f.floor = max(f.floor+1, micros(now))
	l := lease.Lease{Key: key, Owner: sess.Owner, Session: sess.ID, Token: f.floor, GrantedAt: stamp(now)}
	f.leases[key] = record{Lease: l, incarnation: in.Number}
	return l
}

// Verify implements lease.Manager.
func (s *Store) Verify(ctx context.Context, sess lease.Session, leases []lease.Lease) (v lease.Verification, err error) {
	err = s.do(ctx, "verify", s.check(sess, leases...), func(now time.Time) error {
		v.Incarnation = s.incarnation(now)
		if err := s.alive(sess, now, v.Incarnation); err != nil {
			return err
		}
		for _, l := range leases {
			if reason := s.verify(sess, l, v.Incarnation); reason != "" {
				v.Lost = append(v.Lost, lease.Loss{Lease: l, Reason: reason})
			}
		}
		return nil
	})
	return v, err
}

// verify says why the living session does not hold the lease; empty: it does.
func (f *fleet) verify(sess lease.Session, l lease.Lease, in lease.Incarnation) lease.Reason {
	r, known := f.leases[l.Key]
	same := r.Session == sess.ID && r.Token == l.Token
	switch {
	case same && !r.revokedUntil.IsZero():
		return lease.ReasonRevoked
	case same && r.incarnation == in.Number:
		return ""
	case in.FrozenFor > 0 && (same || !known || r.Token < l.Token):
		// The record is of an earlier incarnation, was lost, or is a remnant of an earlier term:
		// the holder knows better. One that was let go is not written again.
		l.Session, l.Owner = sess.ID, sess.Owner
		f.leases[l.Key] = record{Lease: l, incarnation: in.Number}
		f.floor = max(f.floor, l.Token)
		return ""
	case r.incarnation == in.Number && r.Session != sess.ID && r.Token > l.Token:
		return lease.ReasonTaken
	default:
		return lease.ReasonForgotten
	}
}

// Release implements lease.Manager.
func (s *Store) Release(ctx context.Context, sess lease.Session, leases []lease.Lease) error {
	return s.do(ctx, "release", s.check(sess, leases...), func(now time.Time) error {
		for _, l := range leases {
			if r := s.leases[l.Key]; r.Session == sess.ID && r.Token == l.Token {
				if s.left(r, now, s.incarnation(now)) > 0 { // else it was free before
					s.hint(lease.Change{Kind: lease.ChangeReleased, Key: l.Key})
				}
				r.Session = ""
				s.leases[l.Key] = r
			}
		}
		return nil
	})
}
