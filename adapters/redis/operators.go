package redisstore

import (
	"context"
	"slices"
	"strconv"
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

// Leases implements lease.Lister. The server hands out all records at once, and the rest is worked
// out here: 10 000 leases block it for a few milliseconds.
func (s *Store) Leases(ctx context.Context) ([]lease.Lease, error) {
	h, r, err := s.runLease(ctx, leasesScript)
	if err != nil {
		return nil, err
	}
	held, err := r.held(h)
	if err != nil {
		return nil, unavailable(leasesScript.name, err)
	}
	return held, nil
}

func (r reply) held(h head) ([]lease.Lease, error) {
	sessions, err := r.table(0)
	if err != nil {
		return nil, err
	}
	records, err := r.table(1)
	if err != nil {
		return nil, err
	}
	var held []lease.Lease
	for key, text := range records {
		rec, ok := parseRecord(text)
		if !ok || rec.incarnation != h.incarnation.Number {
			continue
		}
		life, ok := parseSession(sessions[rec.session])
		if !ok || life.expires <= h.now || life.opened != rec.opened || rec.revoked != 0 && rec.revoked <= h.now {
			continue
		}
		held = append(held, lease.Lease{Key: key, Owner: instance.ID(rec.owner), Session: rec.session, Token: rec.token, GrantedAt: moment(rec.granted)})
	}
	slices.SortFunc(held, func(a, b lease.Lease) int { return strings.Compare(a.Key, b.Key) })
	return held, nil
}

// sessionLife and record are what the scripts keep under a session and under a key; see
// lua/session.lua and lua/record.lua.
type sessionLife struct{ expires, opened int64 }

type record struct {
	token           uint64
	granted         int64
	incarnation     uint64
	revoked, opened int64
	session, owner  string
}

func parseSession(text string) (l sessionLife, ok bool) {
	f := fields(&text, 2)
	return sessionLife{f.int(0), f.int(1)}, f != nil
}

func parseRecord(text string) (r record, ok bool) {
	f := fields(&text, 6)
	length := f.int(5)
	if f == nil || length > int64(len(text)) {
		return r, false
	}
	return record{
		token: uint64(f.int(0)), granted: f.int(1), incarnation: uint64(f.int(2)), revoked: f.int(3), opened: f.int(4),
		session: text[:length], owner: text[length:],
	}, true
}

// numbers are the fields that a stored text begins with.
type numbers []int64

func (n numbers) int(i int) int64 {
	if n == nil {
		return 0
	}
	return n[i]
}

// fields cuts n numbers, each followed by a space, off the text. It returns nil where they are not there.
func fields(text *string, n int) numbers {
	out := make(numbers, 0, n)
	for range n {
		digits, rest, ok := strings.Cut(*text, " ")
		v, err := strconv.ParseUint(digits, 10, 63)
		if !ok || err != nil {
			return nil
		}
		out, *text = append(out, int64(v)), rest
	}
	return out
}
