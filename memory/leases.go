package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// session is one promise to be alive. A closed session is one that expired when it was closed.
type session struct {
	expires  time.Time
	revision uint64
}

// record is the last lease of a key. It counts only in the incarnation that it was granted or
// verified in. Session is empty once the holder has let go; the token stays, as a memory of that.
type record struct {
	lease.Lease
	incarnation  uint64
	revokedUntil time.Time // zero: not revoked
}

// check refuses bad arguments before anything is done.
func (s *Store) check(sess lease.Session, leases ...lease.Lease) error {
	if err := sess.Check(); err != nil {
		return err
	}
	for _, l := range leases {
		if err := lease.CheckKey(l.Key); err != nil {
			return err
		}
	}
	return lease.CheckMaxTTL(sess.TTL, s.cfg.MaxTTL)
}

// OpenSession implements lease.Manager.
func (s *Store) OpenSession(ctx context.Context, sess lease.Session) (in lease.Incarnation, err error) {
	if err := s.check(sess); err != nil {
		return in, err
	}
	err = s.do(ctx, "open session", func(now time.Time) error {
		in = s.incarnation(now)
		known, ok := s.sessions[sess.ID]
		if ok && !now.Before(known.expires) && in.FrozenFor == 0 {
			return lease.ErrSessionLapsed // its keys may be another's by now
		}
		known.expires = now.Add(sess.TTL)
		s.sessions[sess.ID] = known
		return nil
	})
	return in, err
}

// Renew implements lease.Manager. It touches no lease: they are held while their session lives.
func (s *Store) Renew(ctx context.Context, sess lease.Session) (r lease.Renewal, err error) {
	if err := s.check(sess); err != nil {
		return r, err
	}
	err = s.do(ctx, "renew", func(now time.Time) error {
		r.Incarnation = s.incarnation(now)
		known := s.sessions[sess.ID]
		// While frozen, a session that is missing may have been lost with the data, and a lapsed
		// one may have been renewed: no key has gone to another since, so it may go on.
		if !now.Before(known.expires) && r.Incarnation.FrozenFor == 0 {
			return lease.ErrSessionLapsed
		}
		r.Revision = known.revision
		known.expires = now.Add(sess.TTL)
		s.sessions[sess.ID] = known
		return nil
	})
	return r, err
}

// alive refuses a session that is over. While frozen that proves nothing: renew first.
func (f *fleet) alive(sess lease.Session, now time.Time, in lease.Incarnation) error {
	switch {
	case now.Before(f.sessions[sess.ID].expires):
		return nil
	case in.FrozenFor > 0:
		return fmt.Errorf("memory: session unknown while frozen, renew it: %w", lease.ErrUnavailable)
	default:
		return lease.ErrSessionLapsed
	}
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

// Acquire implements lease.Manager. It answers in the order of keys.
func (s *Store) Acquire(ctx context.Context, sess lease.Session, keys []string) (g lease.Grant, err error) {
	if err := s.check(sess); err != nil {
		return g, err
	}
	for _, key := range keys {
		if err := lease.CheckKey(key); err != nil {
			return g, err
		}
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	err = s.do(ctx, "acquire", func(now time.Time) error {
		in := s.incarnation(now)
		g.Incarnation = in
		if err := s.alive(sess, now, in); err != nil {
			return err
		}
		for _, key := range keys {
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
	if err := s.check(sess, leases...); err != nil {
		return v, err
	}
	err = s.do(ctx, "verify", func(now time.Time) error {
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
	if err := s.check(sess, leases...); err != nil {
		return err
	}
	return s.do(ctx, "release", func(time.Time) error {
		var freed []string
		for _, l := range leases {
			if r := s.leases[l.Key]; r.Session == sess.ID && r.Token == l.Token {
				r.Session = ""
				s.leases[l.Key] = r
				freed = append(freed, l.Key)
			}
		}
		switch len(freed) {
		case 0:
		case 1:
			s.hint(lease.Change{Kind: lease.ChangeReleased, Key: freed[0]})
		default:
			s.hint(lease.Change{Kind: lease.ChangeReleased})
		}
		return nil
	})
}

// CloseSession implements lease.Manager. The session expires now, and with it all that it holds.
func (s *Store) CloseSession(ctx context.Context, sess lease.Session) error {
	if err := s.check(sess); err != nil {
		return err
	}
	return s.do(ctx, "close session", func(now time.Time) error {
		if known := s.sessions[sess.ID]; now.Before(known.expires) {
			known.expires = now
			s.sessions[sess.ID] = known
			s.hint(lease.Change{Kind: lease.ChangeReleased})
		}
		return nil
	})
}

// Leases implements lease.Lister.
func (s *Store) Leases(ctx context.Context) (held []lease.Lease, err error) {
	err = s.do(ctx, "list leases", func(now time.Time) error {
		in := s.incarnation(now)
		for _, r := range s.leases {
			if s.left(r, now, in) > 0 {
				held = append(held, r.Lease)
			}
		}
		return nil
	})
	slices.SortFunc(held, func(a, b lease.Lease) int { return strings.Compare(a.Key, b.Key) })
	return held, err
}

// Revoke implements lease.Revoker. A second call finds the mark and moves nothing.
func (s *Store) Revoke(ctx context.Context, key string) error {
	if err := lease.CheckKey(key); err != nil {
		return err
	}
	return s.do(ctx, "revoke", func(now time.Time) error {
		r := s.leases[key]
		if s.left(r, now, s.incarnation(now)) == 0 || !r.revokedUntil.IsZero() {
			return nil
		}
		holder := s.sessions[r.Session]
		holder.revision++
		s.sessions[r.Session] = holder
		r.revokedUntil = holder.expires
		s.leases[key] = r
		s.hint(lease.Change{Kind: lease.ChangeRevoked, Key: key})
		return nil
	})
}
