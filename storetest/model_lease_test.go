package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// incarnation begins a new one where the data is not of this server's life.
func (h *handle) incarnation(now time.Time) lease.Incarnation {
	if h.marker != h.life {
		h.number = max(h.number+1, uint64(now.UnixMicro()))
		h.marker, h.thaws = h.life, now.Add(h.maxTTL)
		switch h.bug {
		case noFreeze:
			h.thaws = now
		case shortFreeze:
			h.thaws = now.Add(h.maxTTL / 2)
		}
	}
	return lease.Incarnation{Number: h.number, FrozenFor: max(0, h.thaws.Sub(now))}
}

func (h *handle) Provision(ctx context.Context) error {
	return h.call(ctx, "provision", func(now time.Time) error {
		if h.marker == 0 || h.bug == provisionResets {
			h.number, h.marker, h.thaws = max(h.number+1, uint64(now.UnixMicro())), h.life, now
		}
		return nil
	})
}

// key is what the store makes of a key.
func (h *handle) key(k string) string {
	switch h.bug {
	case keysLowered:
		return strings.ToLower(k)
	case keysTrimmed:
		return strings.TrimSpace(k)
	case oneForAll:
		return "one"
	case keysCut:
		return k[:min(len(k), 255)]
	}
	return k
}

func (h *handle) sess(id string) (modelSession, string) {
	if h.bug == sessionsLocal {
		return h.local[id], id
	}
	if h.bug == prefixCompare {
		for known, s := range h.sessions {
			if strings.HasPrefix(known, id) {
				return s, known
			}
		}
	}
	return h.sessions[id], id
}

func (h *handle) setSess(id string, s modelSession) {
	if h.bug == sessionsLocal {
		h.local[id] = s
	}
	h.sessions[id] = s
}

// before is the comparison of clocks: an expiry lies ahead.
func (h *handle) before(now, ends time.Time) bool {
	if h.bug == boundaryOff {
		return !now.After(ends)
	}
	return now.Before(ends)
}

func (h *handle) expiry(now time.Time, ttl time.Duration) time.Time {
	if h.bug == ttlDown {
		ttl = ttl.Truncate(5 * time.Millisecond)
	}
	return now.Add(ttl)
}

func (h *handle) checkLease(s lease.Session, keys ...string) error {
	if h.bug == subMillisecond && s.TTL < time.Millisecond {
		s.TTL = time.Millisecond
	}
	if err := s.Check(); err != nil {
		return err
	}
	for _, k := range keys {
		if err := lease.CheckKey(k); err != nil && h.bug != keysUnchecked {
			return err
		}
	}
	if h.bug == noMaxTTL {
		return nil
	}
	return lease.CheckMaxTTL(s.TTL, h.maxTTL)
}

func (h *handle) OpenSession(ctx context.Context, s lease.Session) (in lease.Incarnation, err error) {
	if err := h.checkLease(s); err != nil {
		return in, err
	}
	err = h.call(ctx, "open", func(now time.Time) error {
		in = h.incarnation(now)
		if h.bug == incarnationMoves {
			h.number++
		}
		known, id := h.sess(s.ID)
		if !known.ends.IsZero() && !h.before(now, known.ends) && in.FrozenFor == 0 && h.bug != openRevives {
			return lease.ErrSessionLapsed
		}
		if h.bug == openEndsOthers {
			for other, o := range h.sessions {
				if o.owner == s.Owner && other != id {
					o.ends = now
					h.sessions[other] = o
				}
			}
		}
		if h.bug == openOnce && !known.ends.IsZero() {
			return nil
		}
		known.owner, known.ends = s.Owner, h.expiry(now, s.TTL)
		h.setSess(id, known)
		return nil
	})
	return in, err
}

func (h *handle) Renew(ctx context.Context, s lease.Session) (r lease.Renewal, err error) {
	if err := h.checkLease(s); err != nil {
		return r, err
	}
	err = h.call(ctx, "renew", func(now time.Time) error {
		r.Incarnation = h.incarnation(now)
		known, id := h.sess(s.ID)
		if !h.before(now, known.ends) && r.Incarnation.FrozenFor == 0 && !h.mayRevive(known, id) {
			return lease.ErrSessionLapsed
		}
		if h.bug == frozenRenewLapses && known.ends.IsZero() {
			return lease.ErrSessionLapsed
		}
		if h.bug == renewShort && h.before(now, known.ends) {
			r.Revision = known.revision
			return nil
		}
		known.owner, known.ends = s.Owner, h.expiry(now, s.TTL)
		if h.bug == revisionDrifts {
			known.revision++
		}
		h.setSess(id, known)
		r.Revision = known.revision
		for k, l := range h.leases {
			if l.Session == id && h.bug == tokenMoves {
				l.Token++
				h.leases[k] = l
			}
		}
		return nil
	})
	return r, err
}

// mayRevive is true for stores that renew what has lapsed.
func (h *handle) mayRevive(known modelSession, id string) bool {
	if known.ends.IsZero() {
		return false
	}
	switch h.bug {
	case renewIgnoresExpiry:
		return true
	case renewRevives: // unless its keys were taken, and are held
		for _, l := range h.leases {
			if l.Session == id {
				return true
			}
		}
	case renewIgnoresTakeover: // unless a record still names it
		for _, l := range h.leases {
			if l.Session == id {
				return false
			}
		}
		return true
	}
	return false
}

func (h *handle) alive(s lease.Session, now time.Time, in lease.Incarnation) error {
	known, _ := h.sess(s.ID)
	if h.before(now, known.ends) {
		return nil
	}
	if h.bug == acquireOpens && known.ends.IsZero() {
		return nil
	}
	if in.FrozenFor > 0 && h.bug != frozenSaysLapsed {
		return lease.ErrUnavailable
	}
	return lease.ErrSessionLapsed
}

// left is how long the record still keeps its key.
func (h *handle) left(l modelLease, now time.Time, in lease.Incarnation) time.Duration {
	if l.number != in.Number && h.bug != recordsCount || l.Session == "" {
		return 0
	}
	ends := h.sessions[l.Session].ends
	if !l.revoked.IsZero() && l.revoked.Before(ends) && h.bug != revokeIsSoft {
		ends = l.revoked
	}
	if h.bug == boundaryOff && now.Equal(ends) {
		return 1
	}
	if h.bug == lapseSlow && strings.HasPrefix(l.Key, "key-000") && !strings.HasSuffix(l.Key, "-00000") && !now.Before(ends) {
		ends = ends.Add(2 * time.Second)
	}
	return max(0, ends.Sub(now))
}

func (h *handle) same(l modelLease, s lease.Session) bool {
	_, id := h.sess(s.ID)
	if h.bug == keyByOwner {
		return l.Owner == s.Owner
	}
	return l.Session == id
}

func (h *handle) Verify(ctx context.Context, s lease.Session, leases []lease.Lease) (v lease.Verification, err error) {
	if err := h.checkLease(s); err != nil {
		return v, err
	}
	err = h.call(ctx, "verify", func(now time.Time) error {
		v.Incarnation = h.incarnation(now)
		if err := h.alive(s, now, v.Incarnation); err != nil {
			return err
		}
		if h.bug == verifyExtends {
			known, id := h.sess(s.ID)
			known.ends = h.expiry(now, s.TTL)
			h.setSess(id, known)
		}
		for _, l := range leases {
			if reason := h.judge(s, l, v.Incarnation); reason != "" {
				v.Lost = append(v.Lost, lease.Loss{Lease: l, Reason: reason})
			}
		}
		return nil
	})
	return v, err
}

func (h *handle) judge(s lease.Session, l lease.Lease, in lease.Incarnation) lease.Reason {
	r, known := h.leases[h.key(l.Key)]
	counts := r.number == in.Number || h.bug == recordsCount
	switch {
	case h.bug == verifyAlways:
		return ""
	case counts && h.same(r, s) && (r.Token == l.Token || h.bug == verifyIgnoresToken):
		if !r.revoked.IsZero() {
			return lease.ReasonRevoked
		}
		return ""
	case in.FrozenFor > 0 && h.bug != verifyForgets && (!known || r.Token <= l.Token || h.bug == olderClaimWins):
		l.Session, l.Owner = s.ID, s.Owner
		h.leases[h.key(l.Key)] = modelLease{Lease: l, number: in.Number}
		h.floor = max(h.floor, l.Token)
		return ""
	}
	return lease.ReasonTaken
}

func (h *handle) Release(ctx context.Context, s lease.Session, leases []lease.Lease) error {
	if err := h.checkLease(s); err != nil {
		return err
	}
	return h.call(ctx, "release", func(now time.Time) error {
		for _, l := range leases {
			r, ok := h.leases[h.key(l.Key)]
			token := r.Token == l.Token || h.bug == releaseIgnoresToken
			session := h.same(r, s) || h.bug == releaseIgnoresSession
			if !ok || !token || !session {
				if h.bug == releaseFails {
					return lease.ErrSessionLapsed
				}
				if h.bug == releaseHints {
					h.hint(lease.Change{Kind: lease.ChangeReleased, Key: l.Key})
				}
				continue
			}
			if h.bug == releaseSlow {
				r.revoked = now.Add(time.Second)
				h.leases[h.key(l.Key)] = r
				continue
			}
			free := h.left(r, now, h.incarnation(now)) == 0 && h.bug != overHints
			r.Session = ""
			h.leases[h.key(l.Key)] = r
			if h.bug == tokenRestarts {
				delete(h.leases, h.key(l.Key))
			}
			if !free {
				h.hint(lease.Change{Kind: lease.ChangeReleased, Key: l.Key})
			}
		}
		return nil
	})
}

func (h *handle) CloseSession(ctx context.Context, s lease.Session) error {
	if err := h.checkLease(s); err != nil {
		return err
	}
	return h.call(ctx, "close", func(now time.Time) error {
		known, id := h.sess(s.ID)
		if !h.before(now, known.ends) {
			if h.bug == closeTwiceFails {
				return lease.ErrSessionLapsed
			}
			return nil
		}
		if h.bug == closeLeavesLeases {
			return nil
		}
		held := h.bug == closeHints
		for _, l := range h.leases {
			held = held || l.Session == id && h.left(l, now, h.incarnation(now)) > 0
		}
		known.ends, known.closed = now.Add(-1), true
		h.setSess(id, known)
		if held {
			h.hint(lease.Change{Kind: lease.ChangeReleased})
		}
		return nil
	})
}

func (h *handle) Leases(ctx context.Context) (list []lease.Lease, err error) {
	err = h.call(ctx, "list", func(now time.Time) error {
		in := h.incarnation(now)
		for _, l := range h.leases {
			if h.left(l, now, in) > 0 || h.bug == listShowsLapsed && l.Session != "" {
				list = append(list, l.Lease)
			}
		}
		return nil
	})
	slices.SortFunc(list, func(a, b lease.Lease) int { return strings.Compare(a.Key, b.Key) })
	switch h.bug {
	case listUnordered:
		slices.Reverse(list)
	case listShared:
		if len(h.list) != len(list) {
			h.list = list
		}
		list = h.list
	}
	return list, err
}

func (h *handle) Revoke(ctx context.Context, key string) error {
	if err := lease.CheckKey(key); err != nil {
		return err
	}
	return h.call(ctx, "revoke", func(now time.Time) error {
		l, ok := h.leases[key]
		if !ok || h.left(l, now, h.incarnation(now)) == 0 {
			return nil
		}
		if !l.revoked.IsZero() && h.bug != revokeMoves {
			return nil
		}
		s := h.sessions[l.Session]
		if h.bug != revokeSilent {
			s.revision++
		}
		h.sessions[l.Session] = s
		l.revoked = s.ends
		if h.bug == revokeFrees {
			l.revoked = now
		}
		h.leases[key] = l
		h.hint(lease.Change{Kind: lease.ChangeRevoked, Key: key})
		return nil
	})
}
