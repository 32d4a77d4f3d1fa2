package redisstore

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// check refuses bad arguments before any I/O.
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

// parts cuts a call into what one script may do. A call without any item is still one call.
func parts[T any](all []T) iter.Seq[[]T] {
	if len(all) == 0 {
		return func(yield func([]T) bool) { yield(nil) }
	}
	return slices.Chunk(all, most)
}

// agree keeps the incarnation of a call that was cut into parts: a part that was answered in another
// one proves nothing about the earlier parts.
func agree(op string, all *lease.Incarnation, part lease.Incarnation) error {
	if all.Number != 0 && all.Number != part.Number {
		return unavailable(op, errTurned)
	}
	*all = part
	return nil
}

// OpenSession implements lease.Manager.
func (s *Store) OpenSession(ctx context.Context, sess lease.Session) (lease.Incarnation, error) {
	if err := s.check(sess); err != nil {
		return lease.Incarnation{}, err
	}
	if err := s.admit(ctx); err != nil {
		return lease.Incarnation{}, err
	}
	h, _, err := s.runLease(ctx, openScript, sess.ID, ceil(sess.TTL))
	return h.incarnation, err
}

// Renew implements lease.Manager. It reads and writes one record, whatever the session holds.
func (s *Store) Renew(ctx context.Context, sess lease.Session) (lease.Renewal, error) {
	if err := s.check(sess); err != nil {
		return lease.Renewal{}, err
	}
	return renewed(s.runLease(ctx, renewScript, renewArgs(sess)...))
}

func renewArgs(sess lease.Session) []string { return []string{sess.ID, ceil(sess.TTL)} }

// renewed reads the answer to a renewal.
func renewed(h head, r reply, err error) (lease.Renewal, error) {
	if err != nil {
		return lease.Renewal{}, err
	}
	revision, err := r.integer(0)
	if err != nil {
		return lease.Renewal{}, unavailable(renewScript.name, err)
	}
	return lease.Renewal{Incarnation: h.incarnation, Revision: uint64(revision)}, nil
}

// Acquire implements lease.Manager. It answers in the order of keys, 500 of them in one script.
func (s *Store) Acquire(ctx context.Context, sess lease.Session, keys []string) (lease.Grant, error) {
	if err := s.check(sess); err != nil {
		return lease.Grant{}, err
	}
	for _, key := range keys {
		if err := lease.CheckKey(key); err != nil {
			return lease.Grant{}, err
		}
	}
	if err := s.admit(ctx); err != nil {
		return lease.Grant{}, err
	}
	var g lease.Grant
	for part := range parts(slices.Compact(slices.Sorted(slices.Values(keys)))) {
		h, r, err := s.acquire(ctx, sess, part)
		if err == nil {
			err = agree(acquireScript.name, &g.Incarnation, h.incarnation)
		}
		if err == nil {
			err = r.grants(&g, sess, part)
		}
		if err != nil {
			return lease.Grant{}, err
		}
	}
	return g, nil
}

// acquire asks for at most 500 keys. Where the server's clock was stepped forward, the request seems to
// be late; the answer carries the new time, so that the second try is judged rightly.
func (s *Store) acquire(ctx context.Context, sess lease.Session, keys []string) (h head, r reply, err error) {
	for range 2 {
		args := append([]string{sess.ID, string(sess.Owner), s.horizon.of(ctx), "0"}, keys...)
		if s.cfg.MinReplicas > 0 {
			h, r, err = s.runReplicated(ctx, acquireScript, args)
		} else {
			h, r, err = s.runLease(ctx, acquireScript, args...)
		}
		if !errors.Is(err, errLate) {
			break
		}
	}
	return h, r, err
}

// grants reads the answers for the keys: three texts each.
func (r reply) grants(g *lease.Grant, sess lease.Session, keys []string) error {
	if len(r) != 3*len(keys) {
		return unavailable(acquireScript.name, malformed(r))
	}
	for i, key := range keys {
		outcome, _ := r.text(3 * i)
		text, _ := r.text(3*i + 1)
		n, err := r.integer(3*i + 2)
		if err != nil {
			return unavailable(acquireScript.name, err)
		}
		switch outcome {
		case "lapsed":
			var l lease.Lapse
			if text, l, err = lapsed(key, text); err != nil {
				return unavailable(acquireScript.name, err)
			}
			g.Lapses = append(g.Lapses, l)
			fallthrough
		case "granted":
			token, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return unavailable(acquireScript.name, malformed(text))
			}
			g.Leases = append(g.Leases, lease.Lease{Key: key, Owner: sess.Owner, Session: sess.ID, Token: token, GrantedAt: moment(n)})
		case "held":
			g.Refused = append(g.Refused, lease.Refusal{Key: key, Owner: instance.ID(text), RetryAfter: micros(n)})
		case "busy":
			g.Refused = append(g.Refused, lease.Refusal{Key: key, Busy: true, RetryAfter: micros(n)})
		default:
			return unavailable(acquireScript.name, malformed(outcome))
		}
	}
	return nil
}

// lapsed reads what a grant says of the term before.
func lapsed(key, text string) (token string, l lease.Lapse, err error) {
	token, rest, _ := strings.Cut(text, " ")
	ago, owner, ok := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(ago, 10, 64)
	if !ok || err != nil {
		return "", l, malformed(text)
	}
	return token, lease.Lapse{Key: key, Owner: instance.ID(owner), Ago: micros(n)}, nil
}

// Verify implements lease.Manager.
func (s *Store) Verify(ctx context.Context, sess lease.Session, leases []lease.Lease) (lease.Verification, error) {
	if err := s.check(sess, leases...); err != nil {
		return lease.Verification{}, err
	}
	var v lease.Verification
	for part := range parts(leases) {
		h, r, err := s.runLease(ctx, verifyScript, verifyArgs(sess, part)...)
		if err = verified(&v, part, h, r, err); err != nil {
			return lease.Verification{}, err
		}
	}
	return v, nil
}

func verifyArgs(sess lease.Session, part []lease.Lease) []string {
	args := []string{sess.ID, string(sess.Owner)}
	for _, l := range part {
		args = append(args, l.Key, decimal(l.Token), decimal(uint64(max(0, l.GrantedAt.UnixMicro()))))
	}
	return args
}

// verified adds the answer for a part of the leases.
func verified(v *lease.Verification, part []lease.Lease, h head, r reply, err error) error {
	if err == nil {
		err = agree(verifyScript.name, &v.Incarnation, h.incarnation)
	}
	if err == nil && len(r) != len(part) {
		err = unavailable(verifyScript.name, malformed(r))
	}
	if err != nil {
		return err
	}
	for i, l := range part {
		if reason, _ := r.text(i); reason != "" {
			v.Lost = append(v.Lost, lease.Loss{Lease: l, Reason: lease.Reason(reason)})
		}
	}
	return nil
}

// Release implements lease.Manager.
func (s *Store) Release(ctx context.Context, sess lease.Session, leases []lease.Lease) error {
	if err := s.check(sess, leases...); err != nil {
		return err
	}
	for part := range parts(leases) {
		args := []string{sess.ID, s.keys.channel}
		for _, l := range part {
			args = append(args, l.Key, decimal(l.Token))
		}
		if _, _, err := s.runLease(ctx, releaseScript, args...); err != nil {
			return err
		}
	}
	return nil
}

// closePages is how many pages of 500 leases a CloseSession looks through for one that it frees. A
// session that holds its share of a fleet's leases is found in the first few. Beyond them others are
// not told, and find what became free when they look by themselves.
const closePages = 64

// CloseSession implements lease.Manager. It takes one write: the leases end with their session.
func (s *Store) CloseSession(ctx context.Context, sess lease.Session) error {
	if err := s.check(sess); err != nil {
		return err
	}
	cursor := "0"
	for page := range closePages {
		more := "1"
		if page == closePages-1 {
			more = "0"
		}
		_, r, err := s.runLease(ctx, closeScript, sess.ID, s.keys.channel, cursor, more)
		if err != nil || len(r) == 0 {
			return err
		}
		if cursor, err = r.text(0); err != nil {
			return unavailable(closeScript.name, err)
		}
	}
	return nil
}

// moment is a number of µs since 1970 as a time.
func moment(n int64) time.Time { return time.UnixMicro(n).UTC() }
