//go:build unix

package filestore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/tenure-go/tenure/lease"
)

// incarnation never changes: what was acknowledged is never lost.
var incarnation = lease.Incarnation{Number: 1}

// OpenSession implements lease.Manager.
func (s *Store) OpenSession(ctx context.Context, sess lease.Session) (lease.Incarnation, error) {
	return incarnation, s.update(ctx, check(sess, nil), func(d *data) error {
		if ends, known := d.Sessions[sess.ID]; known && d.left(ends) <= 0 {
			return lease.ErrSessionLapsed
		}
		d.Sessions[sess.ID] = d.after(sess.TTL)
		return nil
	})
}

// Acquire implements lease.Manager.
func (s *Store) Acquire(ctx context.Context, sess lease.Session, keys []string) (g lease.Grant, err error) {
	err = s.update(ctx, check(sess, keys), func(d *data) error {
		if d.left(d.Sessions[sess.ID]) <= 0 {
			return lease.ErrSessionLapsed
		}
		g = lease.Grant{Incarnation: incarnation}
		for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
			l := d.Leases[key]
			switch left := d.left(d.Sessions[l.Session]); {
			case left > 0 && l.Session == sess.ID:
				g.Leases = append(g.Leases, l) // a repeated call: the same token
			case left > 0:
				g.Refused = append(g.Refused, lease.Refusal{Key: key, Owner: l.Owner, RetryAfter: left})
			default:
				d.Floor = max(d.Floor+1, uint64(d.Clock))
				l = lease.Lease{Key: key, Owner: sess.Owner, Session: sess.ID, Token: d.Floor, GrantedAt: d.stamp()}
				d.Leases[key] = l
				g.Leases = append(g.Leases, l)
			}
		}
		return nil
	})
	return g, err
}

// Renew implements lease.Manager: one number, however many leases hang off it.
func (s *Store) Renew(ctx context.Context, sess lease.Session) (lease.Renewal, error) {
	return lease.Renewal{Incarnation: incarnation}, s.update(ctx, check(sess, nil), func(d *data) error {
		if d.left(d.Sessions[sess.ID]) <= 0 {
			return lease.ErrSessionLapsed
		}
		d.Sessions[sess.ID] = d.after(sess.TTL)
		return nil
	})
}

// Verify implements lease.Manager.
func (s *Store) Verify(ctx context.Context, sess lease.Session, leases []lease.Lease) (v lease.Verification, err error) {
	err = s.update(ctx, check(sess, keysOf(leases)), func(d *data) error {
		if d.left(d.Sessions[sess.ID]) <= 0 {
			return lease.ErrSessionLapsed
		}
		v = lease.Verification{Incarnation: incarnation}
		for _, l := range leases {
			switch now := d.Leases[l.Key]; {
			case now.Session == sess.ID && now.Token == l.Token:
			case now.Session != sess.ID && now.Token > l.Token:
				v.Lost = append(v.Lost, lease.Loss{Lease: l, Reason: lease.ReasonTaken})
			default:
				v.Lost = append(v.Lost, lease.Loss{Lease: l, Reason: lease.ReasonForgotten})
			}
		}
		return nil
	})
	return v, err
}

// Release implements lease.Manager.
func (s *Store) Release(ctx context.Context, sess lease.Session, leases []lease.Lease) error {
	return s.update(ctx, check(sess, keysOf(leases)), func(d *data) error {
		for _, l := range leases {
			if now := d.Leases[l.Key]; now.Session == sess.ID && now.Token == l.Token {
				delete(d.Leases, l.Key)
			}
		}
		return nil
	})
}

// CloseSession implements lease.Manager: the session is over now, and with it all that it holds.
func (s *Store) CloseSession(ctx context.Context, sess lease.Session) error {
	return s.update(ctx, check(sess, nil), func(d *data) error {
		if d.left(d.Sessions[sess.ID]) > 0 {
			d.Sessions[sess.ID] = d.Clock
		}
		return nil
	})
}

// Leases implements lease.Lister, which assigners that heed owners need.
func (s *Store) Leases(ctx context.Context) (held []lease.Lease, err error) {
	err = s.update(ctx, nil, func(d *data) error {
		for _, key := range slices.Sorted(maps.Keys(d.Leases)) {
			if l := d.Leases[key]; d.left(d.Sessions[l.Session]) > 0 {
				held = append(held, l)
			}
		}
		return nil
	})
	return held, err
}

// check refuses what cannot be used, before anything is done.
func check(sess lease.Session, keys []string) error {
	for _, key := range keys {
		if err := lease.CheckKey(key); err != nil {
			return err
		}
	}
	return cmp.Or(sess.Check(), lease.CheckMaxTTL(sess.TTL, lease.DefaultMaxTTL))
}

func keysOf(leases []lease.Lease) (keys []string) {
	for _, l := range leases {
		keys = append(keys, l.Key)
	}
	return keys
}
