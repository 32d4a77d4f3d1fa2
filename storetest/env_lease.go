package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// session makes a session of a fresh owner and opens it.
func (e *env) session(s lease.Manager, ttl time.Duration) lease.Session {
	e.Helper()
	return e.openAs(s, lease.NewSession(e.owner(), ttl))
}

func (e *env) openAs(s lease.Manager, sess lease.Session) lease.Session {
	e.Helper()
	before := time.Now()
	_, err := s.OpenSession(e.ctx, sess)
	e.excuse(err, sess)
	e.must(err, "OpenSession of session %q with TTL %v", sess.ID, sess.TTL)
	e.ends[sess.ID] = before.Add(sess.TTL)
	return sess
}

// excuse ends the try where the session is over because the check took longer than its TTL.
func (e *env) excuse(err error, sess lease.Session) {
	if errors.Is(err, lease.ErrSessionLapsed) && e.mayBeOver(sess.ID) {
		panic(tooSlow(fmt.Sprintf("a session with a TTL of %v ran out while the check was at work", sess.TTL)))
	}
}

// excuseAny is excuse where it is not known which session the call was about.
func (e *env) excuseAny(err error) {
	for id := range e.ends {
		e.excuse(err, lease.Session{ID: id, TTL: e.cfg.MaxTTL})
	}
}

// mayBeOver is false in virtual time, where only waiting takes time.
func (e *env) mayBeOver(session string) bool {
	end, known := e.ends[session]
	return known && e.cfg.Bubble == nil && time.Now().After(end.Add(-e.precision()))
}

// acquire asks until each key is decided: a row that was only locked is asked for again.
func (e *env) acquire(s lease.Manager, sess lease.Session, keys ...string) (map[string]lease.Lease, map[string]lease.Refusal, error) {
	got, refused := map[string]lease.Lease{}, map[string]lease.Refusal{}
	end := time.Now().Add(10 * time.Second)
	for {
		g, err := s.Acquire(e.ctx, sess, keys)
		if err != nil {
			e.excuse(err, sess)
			return nil, nil, err
		}
		for _, l := range g.Leases {
			got[l.Key] = l
			e.holders[l.Key] = sess.ID
		}
		e.lapses = append(e.lapses, g.Lapses...)
		keys = keys[:0:0]
		for _, r := range g.Refused {
			if r.Busy && g.Incarnation.FrozenFor == 0 && time.Now().Before(end) {
				keys = append(keys, r.Key)
				continue
			}
			refused[r.Key] = r
		}
		if len(keys) == 0 {
			return got, refused, nil
		}
		e.sleep(min(e.unit/10, 20*time.Millisecond))
	}
}

// grant fails the check unless the session gets the key.
func (e *env) grant(s lease.Manager, sess lease.Session, key string) lease.Lease {
	e.Helper()
	got, refused, err := e.acquire(s, sess, key)
	e.must(err, "Acquire of %q", key)
	l, ok := got[key]
	e.that(ok, "Acquire of the free key %q was not granted: %+v", key, refused[key])
	e.that(l.Key == key && l.Owner == sess.Owner && l.Session == sess.ID && l.Token > 0,
		"the lease of %q is wrong: %+v; want key %q, owner %q, session %q, a token above 0", key, l, key, sess.Owner, sess.ID)
	return l
}

// refused fails the check where the session gets the key.
func (e *env) refused(s lease.Manager, sess lease.Session, key string) lease.Refusal {
	e.Helper()
	holder := e.holders[key]
	got, refused, err := e.acquire(s, sess, key)
	e.must(err, "Acquire of the taken key %q", key)
	r, ok := refused[key]
	if !ok && e.mayBeOver(holder) {
		panic(tooSlow(fmt.Sprintf("the holder of %q ran out while the check was at work", key)))
	}
	e.that(ok, "Acquire of the taken key %q was granted: %+v", key, got[key])
	e.that(r.RetryAfter > 0, "the refusal of %q says to retry after %v, want above 0", key, r.RetryAfter)
	return r
}

// names fails the check unless the refusal names the owner. A store without sessions cannot tell.
func (e *env) names(r lease.Refusal, owner instance.ID) {
	e.Helper()
	e.that(r.Owner == owner || r.Owner == "" && !e.has(Sessions), "the refusal of %q names the owner %q, want %q", r.Key, r.Owner, owner)
}

// held fails the check unless Verify says that the session holds the lease.
func (e *env) held(s lease.Manager, sess lease.Session, leases ...lease.Lease) {
	e.Helper()
	v, err := s.Verify(e.ctx, sess, leases)
	e.excuse(err, sess)
	e.must(err, "Verify of held leases")
	e.that(len(v.Lost) == 0, "Verify says lost of leases that are held: %+v", v.Lost)
}

// lost fails the check unless Verify says that none of the leases is held; it returns the answers.
func (e *env) lost(s lease.Manager, sess lease.Session, leases ...lease.Lease) []lease.Loss {
	e.Helper()
	v, err := s.Verify(e.ctx, sess, leases)
	e.excuse(err, sess)
	e.must(err, "Verify of lost leases")
	e.that(len(v.Lost) == len(leases), "Verify of %d leases that are not held says lost of %d: %+v", len(leases), len(v.Lost), v.Lost)
	return v.Lost
}

// renewed renews the session and fails the check where it cannot be.
func (e *env) renewed(s lease.Manager, sess lease.Session) lease.Renewal {
	e.Helper()
	before := time.Now()
	r, err := s.Renew(e.ctx, sess)
	e.excuse(err, sess)
	e.must(err, "Renew of a living session")
	e.ends[sess.ID] = before.Add(sess.TTL)
	e.that(len(r.Lost) == 0 && len(r.Unknown) == 0, "Renew of a living session lost something: %+v", r)
	return r
}

// lapsed fails the check unless err says that the session is over.
func (e *env) lapsed(err error, call string) {
	e.Helper()
	e.that(errors.Is(err, lease.ErrSessionLapsed), "%s answered %v, want ErrSessionLapsed: the session is not alive", call, err)
}

// over fails the check unless every call of the session says that it is over.
func (e *env) over(s lease.Manager, sess lease.Session, leases ...lease.Lease) {
	e.Helper()
	_, err := s.Renew(e.ctx, sess)
	e.lapsed(err, "Renew")
	_, err = s.Acquire(e.ctx, sess, []string{"over-" + sess.ID})
	e.lapsed(err, "Acquire")
	_, err = s.Verify(e.ctx, sess, leases)
	e.lapsed(err, "Verify")
}

func (e *env) release(s lease.Manager, sess lease.Session, leases ...lease.Lease) {
	e.Helper()
	e.must(s.Release(e.ctx, sess, leases), "Release")
}

func (e *env) closeSession(s lease.Manager, sess lease.Session) {
	e.Helper()
	e.must(s.CloseSession(e.ctx, sess), "CloseSession")
}

// spell is the life of a session as a client can bound it: the store's expiry lies between the two.
type spell struct{ earliest, latest, begun time.Time }

// timed runs an extending call and bounds the expiry that it set.
func timed(ttl time.Duration, call func()) spell {
	before := time.Now()
	call()
	return spell{before.Add(ttl), time.Now().Add(ttl), before}
}

// unstepped gives up where this machine's clock was set since the spell began: a store on the same machine may have
// judged by it, and neither was wrong.
func (e *env) unstepped(s spell) {
	now := time.Now()
	if by := now.Round(0).Sub(s.begun.Round(0)) - now.Sub(s.begun); e.cfg.Bubble == nil && by.Abs() > e.precision() {
		panic(tooSlow(fmt.Sprintf("this machine's clock was set by %v meanwhile", by)))
	}
}

// sessionNamed is a session whose ID and owner are the name.
func sessionNamed(name string, ttl time.Duration) lease.Session {
	return lease.Session{ID: name, Owner: instance.ID(name), TTL: ttl}
}
