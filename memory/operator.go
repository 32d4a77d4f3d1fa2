package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// Leases implements lease.Lister.
func (s *Store) Leases(ctx context.Context) (held []lease.Lease, err error) {
	err = s.do(ctx, "list leases", nil, func(now time.Time) error {
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
	return s.do(ctx, "revoke", lease.CheckKey(key), func(now time.Time) error {
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

// Provision says that this fleet is new, so that its first incarnation begins without a freeze.
// On a fleet that has a marker, and without Config.Incarnations, it changes nothing.
func (s *Store) Provision(ctx context.Context) error {
	return s.do(ctx, "provision", nil, func(now time.Time) error {
		if s.cfg.Incarnations && s.marker == (marker{}) {
			s.begin(now, now)
		}
		return nil
	})
}
