package lease

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
)

// Locker is the simplest lease contract: a lock with an owner, a time to live and a token. A
// store that offers no more than this becomes a Manager by PerKey, at the price of one call per
// key and interval.
type Locker interface {
	// TryAcquireOrRenew takes a free or expired key, or extends a key that is this owner's. ok is
	// false where another owner holds it, and then nothing was changed. The token grows with each
	// change of hands and each take after an expiry, and stays the same when the owner renews.
	TryAcquireOrRenew(ctx context.Context, key, owner string, ttl time.Duration) (token uint64, ok bool, err error)
	// Release frees the key where the owner and the token still match; otherwise it does nothing.
	Release(ctx context.Context, key, owner string, token uint64) error
}

// PerKey lifts a Locker to a Manager. The session ID is the lock's owner, and Renew renews each
// key that it granted. It cannot see a wiped store, so its answers carry incarnation 0 and a
// token that a renewal changed counts as lost. Safe for concurrent use.
//
// RetryAfter of a refusal is the session's TTL over four, at least 100 ms: a Locker does not tell
// how long its present owner lasts.
func PerKey(l Locker) Manager { return &perKey{locker: l, sessions: map[string]*lockSession{}} }

type perKey struct {
	locker Locker

	mu       sync.Mutex
	sessions map[string]*lockSession
}

// lockSession is what this process knows of a session: the locks that it was granted.
type lockSession struct {
	closed  bool
	rounds  int       // renewals that were begun
	expires time.Time // when every lock of it has run out by itself; then nobody asks for it any more
	tokens  map[string]uint64
}

func (p *perKey) OpenSession(ctx context.Context, s Session) (Incarnation, error) {
	if err := s.Check(); err != nil {
		return Incarnation{}, err
	}
	if err := ended(ctx, "OpenSession"); err != nil {
		return Incarnation{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for id, known := range p.sessions {
		if id != s.ID && now.After(known.expires) {
			delete(p.sessions, id) // its keeper has moved on
		}
	}
	known := p.sessions[s.ID]
	if known == nil {
		known = &lockSession{tokens: map[string]uint64{}}
		p.sessions[s.ID] = known
	}
	if known.closed {
		return Incarnation{}, ErrSessionLapsed
	}
	known.expires = now.Add(2 * s.TTL)
	return Incarnation{}, nil
}

func (p *perKey) Acquire(ctx context.Context, s Session, keys []string) (Grant, error) {
	var g Grant
	if err := checkKeys(s, keys); err != nil {
		return g, err
	}
	if err := ended(ctx, "Acquire"); err != nil {
		return g, err
	}
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		token, ok, err := p.take(ctx, s, key)
		if err != nil {
			return Grant{}, err
		}
		if !ok {
			g.Refused = append(g.Refused, Refusal{Key: key, RetryAfter: max(s.TTL/4, 100*time.Millisecond)})
			continue
		}
		g.Leases = append(g.Leases, Lease{Key: key, Owner: s.Owner, Session: s.ID, Token: token, GrantedAt: time.Now()})
	}
	return g, nil
}

// take asks for one lock. A renewal that began meanwhile did not reach it, and yet its answer extends all
// that the session holds: then it is asked for again, which is the renewal that it missed.
func (p *perKey) take(ctx context.Context, s Session, key string) (uint64, bool, error) {
	for {
		round := p.round(s.ID)
		token, ok, err := p.locker.TryAcquireOrRenew(ctx, key, s.ID, s.TTL)
		if err != nil {
			return 0, false, fault.Unavailable("TryAcquireOrRenew", err)
		}
		if !ok {
			return 0, false, nil
		}
		switch now, open := p.note(s.ID, key, token); {
		case !open:
			return 0, false, errors.Join(ErrSessionLapsed, p.locker.Release(ctx, key, s.ID, token))
		case now == round:
			return token, true, nil
		}
	}
}

// round returns how many renewals of the session were begun.
func (p *perKey) round(session string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.sessions[session]; known != nil {
		return known.rounds
	}
	return 0
}

// note remembers a grant, so that every renewal from now on reaches it, and returns how many were begun
// before. open is false where the session is not.
func (p *perKey) note(session, key string, token uint64) (round int, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.sessions[session]
	if known == nil || known.closed {
		return 0, false
	}
	known.tokens[key] = token
	return known.rounds, true
}

// renewing begins a renewal: it returns what it must reach; false where the session is not open.
func (p *perKey) renewing(s Session) ([]Lease, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.sessions[s.ID]; known != nil {
		known.rounds++
		known.expires = time.Now().Add(2 * s.TTL)
	}
	return p.held(s.ID)
}

// held returns the session's grants; false where the session is not open. The mutex is held.
func (p *perKey) held(session string) ([]Lease, bool) {
	known := p.sessions[session]
	if known == nil || known.closed {
		return nil, false
	}
	out := make([]Lease, 0, len(known.tokens))
	for key, token := range known.tokens {
		out = append(out, Lease{Key: key, Session: session, Token: token})
	}
	slices.SortFunc(out, func(a, b Lease) int { return strings.Compare(a.Key, b.Key) })
	return out, true
}

func (p *perKey) Renew(ctx context.Context, s Session) (Renewal, error) {
	if err := ended(ctx, "Renew"); err != nil {
		return Renewal{}, err
	}
	leases, ok := p.renewing(s)
	if !ok {
		return Renewal{}, ErrSessionLapsed
	}
	var r Renewal
	for _, l := range leases {
		l.Owner = s.Owner
		switch lost, err := p.renewOne(ctx, s, l); {
		case lost:
			r.Lost = append(r.Lost, Loss{Lease: l, Reason: ReasonTaken})
		case err != nil:
			r.Unknown = append(r.Unknown, l)
		}
	}
	return r, nil
}

// renewOne extends one lock. It asks only for what the session was granted under that token: for
// anything else the question itself would take the key. A renewal that changes the token was no
// renewal, and what it took is left to lapse: giving it back could free a later grant of this session.
func (p *perKey) renewOne(ctx context.Context, s Session, l Lease) (lost bool, err error) {
	if !p.granted(s.ID, l) {
		return true, nil
	}
	token, ok, err := p.locker.TryAcquireOrRenew(ctx, l.Key, s.ID, s.TTL)
	if err != nil {
		return false, fault.Unavailable("TryAcquireOrRenew", err)
	}
	if ok && token == l.Token {
		return false, nil
	}
	p.forget(s.ID, l)
	return true, nil
}

func (p *perKey) granted(session string, l Lease) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.sessions[session]
	return known != nil && known.tokens[l.Key] == l.Token && l.Token != 0
}

func (p *perKey) forget(session string, l Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.sessions[session]; known != nil && known.tokens[l.Key] == l.Token {
		delete(known.tokens, l.Key)
	}
}

func (p *perKey) Verify(ctx context.Context, s Session, leases []Lease) (Verification, error) {
	var v Verification
	if err := ended(ctx, "Verify"); err != nil {
		return v, err
	}
	p.mu.Lock()
	_, ok := p.held(s.ID)
	p.mu.Unlock()
	if !ok {
		return v, ErrSessionLapsed
	}
	for _, l := range leases {
		// A lock can only be asked by renewing it, which is later than the deadline it follows.
		lost, err := p.renewOne(ctx, s, l)
		if lost {
			v.Lost = append(v.Lost, Loss{Lease: l, Reason: ReasonTaken})
		} else if err != nil {
			return Verification{}, err
		}
	}
	return v, nil
}

func (p *perKey) Release(ctx context.Context, s Session, leases []Lease) error {
	if err := ended(ctx, "Release"); err != nil {
		return err
	}
	for _, l := range leases {
		if l.Session != s.ID {
			continue
		}
		p.forget(s.ID, l) // first, so that no renewal revives it
		if err := p.locker.Release(ctx, l.Key, s.ID, l.Token); err != nil {
			return fault.Unavailable("Release", err)
		}
	}
	return nil
}

func (p *perKey) CloseSession(ctx context.Context, s Session) error {
	if err := ended(ctx, "CloseSession"); err != nil {
		return err
	}
	p.mu.Lock()
	leases, ok := p.held(s.ID)
	if ok {
		p.sessions[s.ID].closed = true
	}
	p.mu.Unlock()
	var err error
	for _, l := range leases {
		if e := p.locker.Release(ctx, l.Key, s.ID, l.Token); e != nil {
			err = fault.Unavailable("Release", e)
		}
	}
	return err
}

// ended keeps the promise that a call whose context had ended before does nothing, though a Locker may not look at it.
func ended(ctx context.Context, op string) error {
	if ctx.Err() == nil {
		return nil
	}
	return fault.Unavailable(op, ctx.Err())
}

func checkKeys(s Session, keys []string) error {
	if err := s.Check(); err != nil {
		return err
	}
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return err
		}
	}
	return nil
}
