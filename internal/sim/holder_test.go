package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// holder is the model of what one keeper may believe: it reads the keeper's calls and their answers and says
// until when each lease may be trusted. All times are on the machine's line, sleep included.
type holder struct {
	p *process

	mu       sync.Mutex
	in       uint64 // newest incarnation seen
	current  string // the session that was opened last; answers for others are ignored
	sessions map[string]*promise
}

// promise is one session.
type promise struct {
	until   time.Duration // local deadline
	over    bool          // the store said so
	doubted bool          // something was revoked: the engine may end terms earlier than the model knows
	leases  map[claim]*trust
}

type claim struct {
	key   string
	token uint64
}

// trust is one lease. It follows its session's renewals in the incarnation in which it was proven. Where a Verify proved
// it in a newer one it does in the one before as well, for as long as nothing else tells of the newer: the keeper may
// not have heard that Verify, since a work that asks leaves when its context ends.
type trust struct {
	in, before uint64
	until      time.Duration
}

func newHolder(p *process) *holder { return &holder{p: p, sessions: map[string]*promise{}} }

// sends notes that a call leaves, and holds S7 to it. It returns the time.
func (h *holder) sends(ctx context.Context, op string, s lease.Session) time.Duration {
	h.p.w.checkBound(ctx, h.p, op)
	now := h.p.clock.line()
	h.mu.Lock()
	defer h.mu.Unlock()
	ends, _ := ctx.Deadline()
	if op == "OpenSession" {
		h.current = s.ID
	}
	if p := h.sessions[s.ID]; p != nil && !p.over && op != "OpenSession" && op != "CloseSession" && op != "Release" {
		if bound := time.Until(ends); bound > p.until-now+time.Millisecond {
			h.p.w.fail("S7", "%s: %s may take %v, and the lease has %v left", h.p.id, op, bound, p.until-now)
		}
	}
	return now
}

// counts reports whether an answer may be used. The mutex is held.
func (h *holder) counts(s lease.Session, in lease.Incarnation, err error) *promise {
	p := h.sessions[s.ID]
	if errors.Is(err, lease.ErrSessionLapsed) && p != nil {
		p.over = true
	}
	if err != nil || in.Number < h.in || s.ID != h.current {
		return nil
	}
	if p == nil || p.over || h.p.clock.line() >= p.until {
		return nil // a term that ended stays ended
	}
	return p
}

func (h *holder) life(s lease.Session) time.Duration { return s.TTL - h.p.w.timing.Margin }

func (h *holder) opened(s lease.Session, sent time.Duration, in lease.Incarnation, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || in.Number < h.in || s.ID != h.current {
		return
	}
	h.in = in.Number
	if h.sessions[s.ID] == nil {
		h.sessions[s.ID] = &promise{until: sent + h.life(s), leases: map[claim]*trust{}}
	}
}

func (h *holder) renewed(s lease.Session, sent time.Duration, r lease.Renewal, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.counts(s, r.Incarnation, err)
	if p == nil {
		return
	}
	h.in = r.Incarnation.Number
	p.doubted = p.doubted || r.Revision > 0
	p.until = max(p.until, sent+h.life(s))
	for _, t := range p.leases {
		if t.in == r.Incarnation.Number || t.before == r.Incarnation.Number {
			t.until = p.until
		}
	}
}

func (h *holder) acquired(s lease.Session, g lease.Grant, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.counts(s, g.Incarnation, err)
	if p == nil {
		return
	}
	h.in = g.Incarnation.Number
	for _, l := range g.Leases {
		if c := (claim{l.Key, l.Token}); p.leases[c] == nil {
			p.leases[c] = &trust{in: g.Incarnation.Number, until: p.until}
		}
	}
}

func (h *holder) verified(s lease.Session, asked []lease.Lease, v lease.Verification, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.counts(s, v.Incarnation, err)
	if p == nil {
		return
	}
	h.in = v.Incarnation.Number // what was answered before this one, and comes after it, proves nothing
	lost := map[claim]bool{}
	for _, l := range v.Lost {
		lost[claim{l.Lease.Key, l.Lease.Token}] = true
	}
	for _, l := range asked {
		c := claim{l.Key, l.Token}
		if t := p.leases[c]; t != nil && !lost[c] {
			if t.in != v.Incarnation.Number {
				t.in, t.before = v.Incarnation.Number, t.in
			}
			t.until = p.until
		}
	}
}

// trusts returns until when a lease may be trusted, and whether its end may come earlier for what the model
// does not know.
func (h *holder) trusts(l lease.Lease) (until time.Duration, doubted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.sessions[l.Session]
	if p == nil || p.over {
		return 0, true
	}
	t := p.leases[claim{l.Key, l.Token}]
	if t == nil {
		return 0, true
	}
	return t.until, p.doubted || t.before != 0
}
