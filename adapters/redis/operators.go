package redisstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// Provision implements lease.Provisioner: it says that this fleet is new, so that its first start needs no
// freeze. On a fleet that has left any trace in the server it changes nothing.
//
// It is for whoever sets the fleet up, once. A process that called it at every start would call it
// after a data loss as well, and so take the freeze away that keeps the promise of one owner.
func (s *Store) Provision(ctx context.Context) error {
	_, err := s.run(ctx, provisionScript, s.keys.forLeases())
	return err
}

// Revoke implements lease.Revoker.
func (s *Store) Revoke(ctx context.Context, key string) error {
	if err := lease.CheckKey(key); err != nil {
		return err
	}
	_, _, err := s.runLease(ctx, revokeScript, key, s.keys.channel)
	return err
}

// Leases implements lease.Lister. It reads 500 records at a time, so that a large fleet does not hold the
// server up. A lease that changes hands meanwhile is in the answer with its old owner or its new one.
func (s *Store) Leases(ctx context.Context) ([]lease.Lease, error) {
	held := map[string]lease.Lease{}
	var in lease.Incarnation
	for cursor := "0"; ; {
		h, r, err := s.runLease(ctx, leasesScript, cursor)
		if err == nil {
			err = agree(leasesScript.name, &in, h.incarnation)
		}
		if err != nil {
			return nil, err
		}
		if cursor, err = r.leases(held); err != nil {
			return nil, unavailable(leasesScript.name, err)
		}
		if cursor == "0" {
			return slices.SortedFunc(maps.Values(held), func(a, b lease.Lease) int { return strings.Compare(a.Key, b.Key) }), nil
		}
	}
}

// leases reads one page: a cursor, then five elements for each lease.
func (r reply) leases(held map[string]lease.Lease) (cursor string, err error) {
	cursor, err = r.text(0)
	for i := 1; i < len(r) && err == nil; i += 5 {
		var text [5]string
		for j := range text {
			if text[j], err = r.text(i + j); err != nil {
				return "", err
			}
		}
		var token, granted int64
		if token, err = r.integer(i + 1); err == nil {
			granted, err = r.integer(i + 2)
		}
		held[text[0]] = lease.Lease{
			Key: text[0], Token: uint64(token), GrantedAt: moment(granted), Session: text[3], Owner: instance.ID(text[4]),
		}
	}
	return cursor, err
}
