package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// errTrapped says that the answer went down with the store's data.
var errTrapped = errors.New("sim: the server restarts before it answers")

// server is the store, under the eyes of a model that knows what it may answer.
type server struct {
	w     *world
	store *memory.Store

	mu       sync.Mutex // one call at a time, so that the model sees their order
	snaps    []*memory.Snapshot
	lost     time.Time // when data was lost last
	armed    bool
	trapped  *memory.Snapshot
	sessions map[string]time.Time // when each expires, as last answered
	granted  map[string]uint64    // per key, the highest token
	seen     map[string]map[uint64]bool
	holders  map[string]tenant
}

// tenant is who was last granted a key.
type tenant struct {
	session string
	token   uint64
	in      uint64    // the incarnation in which that is proven
	until   time.Time // where it was revoked
}

func newServer(w *world, store *memory.Store) *server {
	return &server{
		w: w, store: store, sessions: map[string]time.Time{}, granted: map[string]uint64{},
		seen: map[string]map[uint64]bool{}, holders: map[string]tenant{},
	}
}

// extends notes a session's new life. One that has lapsed may come back in a freeze only. A late OpenSession that
// the store cannot know to be late, since it has forgotten the session, begins one that holds nothing.
func (s *server) extends(id string, life time.Duration, in lease.Incarnation, opened bool) {
	now := time.Now()
	ends, known := s.sessions[id]
	forgotten := opened && (now.Sub(ends) >= ttl || s.lost.After(ends.Add(-life)))
	if known && !now.Before(ends) && in.FrozenFor == 0 && !forgotten {
		s.w.fail("S1", "session %.6s comes back %v after it lapsed", id, now.Sub(ends))
	}
	s.sessions[id] = now.Add(life)
}

func (s *server) open(ctx context.Context, sess lease.Session) (lease.Incarnation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := s.store.OpenSession(ctx, sess)
	if err == nil {
		s.extends(sess.ID, sess.TTL, in, true)
	}
	return in, err
}

func (s *server) renew(ctx context.Context, sess lease.Session) (lease.Renewal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.store.Renew(ctx, sess)
	if err == nil {
		s.extends(sess.ID, sess.TTL, r.Incarnation, false)
	}
	return r, err
}

func (s *server) acquire(ctx context.Context, sess lease.Session, keys []string) (lease.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.store.Acquire(ctx, sess, keys)
	for _, l := range g.Leases {
		s.grants(l, g.Incarnation)
	}
	if s.armed && len(g.Leases) > 0 {
		s.armed = false
		s.trapped = s.store.Snapshot()
		s.lost = time.Now()
		s.w.count("losses of data")
		s.w.note("the store loses a grant of %q with token %d, and its data", g.Leases[0].Key, g.Leases[0].Token)
		s.store.Restore(nil)
		return lease.Grant{}, errTrapped
	}
	return g, err
}

// grants holds S1 and S2 where they are made.
func (s *server) grants(l lease.Lease, in lease.Incarnation) {
	key, now := l.Key, time.Now()
	if s.seen[key][l.Token] {
		return // a repeated call
	}
	if s.seen[key] == nil {
		s.seen[key] = map[uint64]bool{}
	}
	s.seen[key][l.Token] = true
	if l.Token <= s.granted[key] {
		s.w.fail("S2", "the token of %q falls: %d is granted after %d", key, l.Token, s.granted[key])
	}
	s.granted[key] = max(s.granted[key], l.Token)
	if in.FrozenFor > 0 {
		s.w.fail("S1", "%q is granted while the store is frozen for another %v", key, in.FrozenFor)
	}
	if h := s.holders[key]; h.session != "" && h.session != l.Session && h.in == in.Number {
		ends := s.sessions[h.session]
		if !h.until.IsZero() && h.until.Before(ends) {
			ends = h.until
		}
		if now.Before(ends) {
			s.w.fail("S1", "%q is granted with token %d while session %.6s holds it with token %d for another %v", key, l.Token, h.session, h.token, ends.Sub(now))
		}
	}
	s.holders[key] = tenant{session: l.Session, token: l.Token, in: in.Number}
	s.w.trace("%s grant %d", key, l.Token)
	if key == "tenure:planner" {
		s.w.count("planner's terms")
	}
}

func (s *server) verify(ctx context.Context, sess lease.Session, leases []lease.Lease) (lease.Verification, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.store.Verify(ctx, sess, leases)
	if err != nil {
		return v, err
	}
	lost := map[string]bool{}
	for _, l := range v.Lost {
		lost[l.Lease.Key] = true
	}
	for _, l := range leases {
		if h := s.holders[l.Key]; !lost[l.Key] && (h.token <= l.Token || h.in < v.Incarnation.Number) {
			s.holders[l.Key] = tenant{session: sess.ID, token: l.Token, in: v.Incarnation.Number}
		}
	}
	return v, nil
}

func (s *server) release(ctx context.Context, sess lease.Session, leases []lease.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range leases {
		if h := s.holders[l.Key]; h.session == sess.ID && h.token == l.Token {
			delete(s.holders, l.Key)
		}
	}
	return s.store.Release(ctx, sess, leases)
}

func (s *server) closeSession(ctx context.Context, sess lease.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ends, ok := s.sessions[sess.ID]; ok && time.Now().Before(ends) {
		s.sessions[sess.ID] = time.Now()
	}
	return s.store.CloseSession(ctx, sess)
}

func (s *server) revoke(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.holders[key]; ok && h.until.IsZero() {
		h.until = s.sessions[h.session]
		s.holders[key] = h
	}
	_ = s.store.Revoke(context.Background(), key) // a valid key on an open store
}

// keep remembers the server's state.
func (s *server) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snaps = append(s.snaps, s.store.Snapshot()); len(s.snaps) > 8 {
		s.snaps = s.snaps[1:]
	}
}

// lose goes back to a snapshot, 0 being the latest; nil for none.
func (s *server) lose(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var to *memory.Snapshot
	if n >= 0 && len(s.snaps) > 0 {
		to = s.snaps[max(0, len(s.snaps)-1-n)]
	}
	s.lost = time.Now()
	s.w.count("losses of data")
	s.store.Restore(to)
}

func (s *server) arm(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = on
}

func (s *server) untrap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if s.trapped != nil {
		s.lost = time.Now()
		s.store.Restore(s.trapped)
		s.trapped = nil
	}
}
