package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func (h *handle) Acquire(ctx context.Context, s lease.Session, keys []string) (g lease.Grant, err error) {
	checked := keys
	if h.bug == badKeySkipped {
		checked = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return lease.CheckKey(k) != nil })
	}
	if err := h.checkLease(s, checked...); err != nil {
		return g, err
	}
	if h.bug != answersTwice {
		checked = slices.Compact(slices.Sorted(slices.Values(checked)))
	}
	if h.bug == dropsKeys {
		checked = checked[:min(len(checked), 1000)]
	}
	switch h.bug {
	case acquireGap:
		h.peek(ctx, s, checked)
	case contentionFails:
		if h.busy.Add(1) > 1 {
			err = lease.ErrUnavailable
		}
		pause(ctx, time.Microsecond)
		h.busy.Add(-1)
		if err != nil {
			return g, err
		}
	case cutShortReleases:
		defer h.letGoIfCut(ctx, checked)
	case tiedToContext:
		context.AfterFunc(ctx, func() { h.letGo(checked) })
	}
	err = h.call(ctx, "acquire", func(now time.Time) error {
		in := h.incarnation(now)
		g.Incarnation = in
		if err := h.alive(s, now, in); err != nil {
			return err
		}
		if h.bug == acquireExtends {
			known, id := h.sess(s.ID)
			known.ends = h.expiry(now, s.TTL)
			h.setSess(id, known)
		}
		for _, k := range checked {
			h.decide(&g, s, k, now)
		}
		if h.bug == allOrNothing && len(g.Refused) > 0 {
			h.undo(&g)
		}
		return nil
	})
	if h.bug == badKeySkipped && len(checked) < len(keys) && err == nil {
		return lease.Grant{}, lease.CheckKey("")
	}
	return g, err
}

// decide grants or refuses one key.
func (h *handle) decide(g *lease.Grant, s lease.Session, k string, now time.Time) {
	in := g.Incarnation
	l := h.leases[h.key(k)]
	left := h.left(l, now, in)
	mine := h.same(l, s) && left > 0
	if h.bug == hintIsTruth && h.stale[k] { // believes a refusal until a hint comes
		mine, left = false, time.Second
	}
	if h.bug == acquireGap && h.local[k].owner == s.Owner && left > 0 {
		left, mine = 0, false // what was read before is what counts
	}
	switch {
	case mine && (l.revoked.IsZero() || h.bug == revokedComesBack) && h.bug != ownRefused && h.bug != ownAnew:
		g.Leases = append(g.Leases, l.Lease)
	case in.FrozenFor > 0 && h.bug != frozenGrants:
		g.Refused = append(g.Refused, lease.Refusal{Key: k, Busy: true, RetryAfter: in.FrozenFor})
	case left > 0 && (!mine || h.bug != ownAnew):
		h.refuse(g, l, k, left)
	default:
		if h.bug == shortUnrecorded && s.TTL < 2*time.Millisecond {
			g.Leases = append(g.Leases, lease.Lease{Key: k, Owner: s.Owner, Session: s.ID, Token: uint64(now.UnixMicro()), GrantedAt: now})
			return
		}
		h.tellLapse(g, l, k, now)
		g.Leases = append(g.Leases, h.grant(s, k, now, in))
	}
}

// tellLapse adds what ended the term before.
func (h *handle) tellLapse(g *lease.Grant, l modelLease, k string, now time.Time) {
	over := h.sessions[l.Session]
	lapse := lease.Lapse{Key: k, Owner: l.Owner, Ago: max(0, now.Sub(over.ends))}
	switch {
	case h.bug == lapseUntold, l.Owner == "", l.Session == "" && h.bug != lapseOfReleased, !l.revoked.IsZero(), over.closed && h.bug != lapseOfClosed:
		return
	case h.bug == lapseSinceEver:
		lapse.Ago = time.Hour
	}
	g.Lapses = append(g.Lapses, lapse)
}

func (h *handle) refuse(g *lease.Grant, l modelLease, k string, left time.Duration) {
	r := lease.Refusal{Key: k, Owner: l.Owner, RetryAfter: left}
	switch h.bug {
	case refusalAnonymous:
		r.Owner = ""
	case retryEarly:
		r.RetryAfter = left / 2
	case refusedExtends:
		holder := h.sessions[l.Session]
		holder.ends = holder.ends.Add(time.Second)
		h.sessions[l.Session] = holder
	case refusedTakesToken:
		l.Token++
		h.leases[h.key(k)] = l
	case hintIsTruth:
		h.stale[k] = true
	}
	g.Refused = append(g.Refused, r)
}

func (h *handle) grant(s lease.Session, k string, now time.Time, in lease.Incarnation) lease.Lease {
	old := h.leases[h.key(k)]
	token := max(h.floor+1, uint64(max(0, now.UnixMicro())))
	switch h.bug {
	case tokenCounter:
		token = h.floor + 1
	case tokenClockOnly:
		token = uint64(now.UnixMicro())
	case tokenRestarts:
		token = old.Token + 1
	case lapseKeepsToken:
		if old.Session != "" {
			token = max(old.Token, 1)
		}
	case tokenInexact:
		token = token / 64 * 64
	}
	h.floor = max(h.floor, token)
	_, id := h.sess(s.ID)
	l := lease.Lease{Key: k, Owner: s.Owner, Session: id, Token: token, GrantedAt: now.UTC()}
	h.leases[h.key(k)] = modelLease{Lease: l, number: in.Number}
	return l
}

// letGo frees the keys, whoever holds them.
func (h *handle) letGo(keys []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range keys {
		delete(h.leases, k)
	}
}

func (h *handle) letGoIfCut(ctx context.Context, keys []string) {
	if ctx.Err() != nil {
		h.letGo(keys)
	}
}

// undo takes the grants of a call back where one key was refused.
func (h *handle) undo(g *lease.Grant) {
	for _, l := range g.Leases {
		delete(h.leases, l.Key)
		g.Refused = append(g.Refused, lease.Refusal{Key: l.Key, Owner: l.Owner, RetryAfter: time.Second})
	}
	g.Leases = nil
}

// peek is the first half of an Acquire that reads, waits for a moment, and then writes.
func (h *handle) peek(ctx context.Context, s lease.Session, keys []string) {
	_ = h.call(ctx, "peek", func(now time.Time) error {
		in := h.incarnation(now)
		for _, k := range keys {
			if h.left(h.leases[k], now, in) == 0 {
				h.local[k] = modelSession{owner: s.Owner}
			}
		}
		return nil
	})
	pause(ctx, 100*time.Microsecond)
}

// modelWatch is one watcher of the model.
type modelWatch struct {
	changes chan lease.Change
	ended   <-chan struct{}
}

func (h *handle) Watch(ctx context.Context, f func(lease.Change)) error {
	w := &modelWatch{changes: make(chan lease.Change, 4096), ended: ctx.Done()}
	if h.bug == watcherBlocks {
		w.changes = make(chan lease.Change, 3)
	}
	if h.bug != noResync {
		w.changes <- lease.Change{Kind: lease.ChangeResync}
	} else {
		w.changes <- lease.Change{Kind: lease.ChangeReleased}
	}
	if err := h.call(ctx, "watch", func(time.Time) error { h.watch[w] = true; return nil }); err != nil {
		return err
	}
	for {
		select {
		case c := <-w.changes:
			f(c)
		case <-ctx.Done():
			h.mu.Lock()
			delete(h.watch, w)
			h.mu.Unlock()
			if h.bug == watchEndsSilently {
				return nil
			}
			return context.Cause(ctx)
		case <-h.closed:
			if h.bug == watchOutlives {
				<-ctx.Done()
			}
			return lease.ErrClosed
		}
	}
}

func (h *handle) hint(c lease.Change) {
	if h.bug == noHints || h.bug == noDrainHint && c.Kind == lease.ChangeDraining {
		return
	}
	clear(h.stale)
	for w := range h.watch {
		if h.bug == watcherBlocks {
			h.mu.Unlock() // a mutex that nobody gives back would stop virtual time
			select {
			case w.changes <- c:
			case <-w.ended:
			}
			h.mu.Lock()
			continue
		}
		select {
		case w.changes <- c:
		default:
		}
	}
}
