package memory

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// session is one promise to be alive. A closed session is one that expired when it was closed.
type session struct {
	expires  time.Time
	revision uint64
	closed   bool // it did not run out: whoever gets its keys is not told of a lapse
}

// check refuses bad arguments before anything is done.
func (s *Store) check(sess lease.Session, leases ...lease.Lease) error {
	for _, l := range leases {
		if err := lease.CheckKey(l.Key); err != nil {
			return err
		}
	}
	return cmp.Or(sess.Check(), lease.CheckMaxTTL(sess.TTL, s.cfg.MaxTTL))
}

// OpenSession implements lease.Manager.
func (s *Store) OpenSession(ctx context.Context, sess lease.Session) (in lease.Incarnation, err error) {
	err = s.do(ctx, "open session", s.check(sess), func(now time.Time) error {
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
	err = s.do(ctx, "renew", s.check(sess), func(now time.Time) error {
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

// CloseSession implements lease.Manager. The session expires now, and with it all that it holds.
func (s *Store) CloseSession(ctx context.Context, sess lease.Session) error {
	return s.do(ctx, "close session", s.check(sess), func(now time.Time) error {
		known := s.sessions[sess.ID]
		if !now.Before(known.expires) {
			return nil
		}
		for _, r := range s.leases {
			if r.Session == sess.ID && s.left(r, now, s.incarnation(now)) > 0 {
				s.hint(lease.Change{Kind: lease.ChangeReleased}) // only where it held something
				break
			}
		}
		known.expires, known.closed = now, true
		s.sessions[sess.ID] = known
		return nil
	})
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
