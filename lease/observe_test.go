package lease_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// listener remembers every event of a keeper.
type listener struct {
	mu    sync.Mutex
	renew []lease.RenewEvent
	term  []lease.TermEvent
}

func (l *listener) ObserveRenew(e lease.RenewEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renew = append(l.renew, e)
}

func (l *listener) ObserveTerm(e lease.TermEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term = append(l.term, e)
}

func (l *listener) renewals() []lease.RenewEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]lease.RenewEvent(nil), l.renew...)
}

// granted returns the last grant.
func (l *listener) granted() (last lease.TermEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.term {
		if e.Kind == lease.TermGranted {
			last = e
		}
	}
	return last
}

func TestRenewEventsTellTheMarginAndTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w, l := newWire(s), &listener{}
		began := time.Now()
		r := start(t, w, lease.KeeperConfig{Observers: []any{l}}) // TTL 10 s, margin 1 s, interval 2 s
		u := r.claim("k", &user{})
		after(time.Second)
		first := l.renewals()[0]
		if !first.Opening || first.Left != 0 || first.Of != 9*time.Second || !first.Until.Equal(began.Add(9*time.Second)) ||
			!first.At.Equal(began) || first.Session != u.hold().Lease().Session {
			t.Errorf("the opening: %+v", first)
		}
		w.set(func(_ context.Context, op string, do func() error) error {
			if op == "Renew" {
				time.Sleep(time.Second)
			}
			return do()
		})
		after(2500 * time.Millisecond) // sent at 2 s, answered at 3 s
		second := l.renewals()[1]
		if second.Opening || second.Left != 6*time.Second || second.Took != time.Second || second.Held != 1 ||
			!second.Until.Equal(began.Add(11*time.Second)) || !second.At.Equal(began.Add(3*time.Second)) {
			t.Errorf("a slow renewal: %+v", second)
		}
		w.set(func(context.Context, string, func() error) error { return lease.ErrSessionLapsed })
		after(2 * time.Second)
		if last := l.renewals()[2]; last.Err == nil || !last.Until.IsZero() || last.Held != 0 {
			t.Errorf("a refused renewal: %+v", last)
		}
		w.set(nil)
		r.end()
	})
}

func TestGrantsTellWhatWasSeenOfTheTermBefore(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w, l := newWire(s), &listener{}
		first := start(t, w, lease.KeeperConfig{})
		u := first.claim("k", &user{})
		after(time.Second)
		second := start(t, s, lease.KeeperConfig{Observers: []any{l}})
		v := second.claim("k", &user{})
		after(3 * time.Second)
		released := time.Now()
		u.hold().Release()
		after(time.Second)
		owner := u.hold().Lease().Owner
		if e := l.granted(); e.Before != (lease.Before{Owner: owner}) || !e.At.Equal(released) {
			t.Errorf("after a release: %+v", e)
		}
		v.hold().Release()
		after(time.Second)
		u.claim.Contend()
		after(time.Second)
		v.claim.Contend()
		after(time.Second)
		w.set(func(context.Context, string, func() error) error { return lease.ErrUnavailable }) // the owner is cut off
		cut := time.Now()
		after(time.Minute)
		e := l.granted()
		if lapse := e.At.Add(-e.Before.Free); e.Before.Owner != owner || !e.Before.Lapsed || e.Before.Free > time.Second ||
			lapse.Before(cut) || lapse.After(cut.Add(10*time.Second)) {
			t.Errorf("after a lapse: %+v", e)
		}
		w.set(nil)
		first.end()
		second.end()
	})
}

// Nobody contended for the key while its owner died: the store tells whoever gets it.
func TestGrantsTellOfALapseThatNobodySaw(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w, l := newWire(s), &listener{}
		first := start(t, w, lease.KeeperConfig{})
		u := first.claim("k", &user{})
		after(time.Second)
		owner := u.hold().Lease().Owner
		w.set(func(context.Context, string, func() error) error { return lease.ErrUnavailable })
		after(19 * time.Second)
		second := start(t, s, lease.KeeperConfig{Observers: []any{l}})
		second.claim("k", &user{})
		after(time.Second)
		// It was renewed for the last time within the first second, for 10 s.
		if b := l.granted().Before; b.Owner != owner || !b.Lapsed || b.Free < 8*time.Second || b.Free > 10*time.Second {
			t.Errorf("%+v", b)
		}
		w.set(nil)
		first.end()
		second.end()
	})
}

func TestAFirstGrantTellsHowLongItWasWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, s *memory.Store) {
		w, l := newWire(s), &listener{}
		w.set(func(_ context.Context, op string, do func() error) error {
			if op == "Acquire" {
				time.Sleep(time.Second)
			}
			return do()
		})
		r := start(t, w, lease.KeeperConfig{Observers: []any{l}})
		r.claim("k", &user{})
		after(2 * time.Second)
		if e := l.granted(); e.Before != (lease.Before{Free: time.Second}) {
			t.Errorf("%+v", e.Before)
		}
		r.end()
	})
}
