package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func lifecycle() []check {
	closes := []Capability{Closes}
	return []check{
		{id: "Z01", name: "a_closed_handle_says_so", run: z01, needs: closes,
			sentence: "After Close every call answers ErrClosed and does nothing; Close may be called twice."},
		{id: "Z02", name: "closing_a_handle_lets_go_of_nothing", run: z02, needs: closes,
			sentence: "Close ends the handle alone: sessions, leases, members and statuses live on, and so do other handles."},
		{id: "Z03", name: "a_restarted_store_is_used_again", run: z03, needs: []Capability{CanKill}, slow: true,
			sentence: "Handles survive a restart of the store, without being made anew, and so does what living sessions hold."},
		{id: "Z04", name: "nothing_is_left_running", run: z04, slow: true,
			sentence: "Once its handles are closed, a store leaves no goroutine behind."},
		{id: "Z05", name: "closing_beside_calls_is_sound", run: z05, needs: closes,
			sentence: "Close beside calls panics in none of them: each is done, refused with ErrClosed, or unknown."},
	}
}

func z01(e *env) {
	probes := e.probes()
	closer(e.a)()
	closer(e.a)()
	for _, p := range probes {
		err := p.do(e.ctx, e.a)
		e.that(errors.Is(err, lease.ErrClosed), "%s on a closed handle answered %v, want ErrClosed", p.name, err)
		if p.undone != nil {
			p.undone()
		}
	}
	if w, ok := e.a.(lease.Watcher); ok {
		err := w.Watch(e.ctx, func(lease.Change) {})
		e.that(errors.Is(err, lease.ErrClosed), "Watch on a closed handle answered %v, want ErrClosed", err)
	}
	closer(e.a)()
}

func z02(e *env) {
	probes := e.probes()
	for _, p := range probes {
		e.must(p.do(e.ctx, e.a), "%s", p.name)
	}
	sess, rival := e.session(e.a, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	l := e.grant(e.a, sess, e.key())
	closer(e.a)()
	e.refused(e.b, rival, l.Key)
	e.held(e.b, sess, l)
	e.renewed(e.b, sess)
	for _, p := range probes {
		if p.done != nil {
			p.done()
		}
	}
}

func z03(e *env) {
	sess := e.session(e.a, e.cfg.MaxTTL)
	l := e.grant(e.a, sess, e.key())
	e.kill()
	e.each(func(s Store) {
		e.eventually(25*e.unit, func() bool {
			ctx, cancel := e.within(5 * e.unit)
			defer cancel()
			_, err := s.Renew(ctx, sess)
			return err == nil
		}, "after a restart of the store, Renew still fails")
		e.held(s, sess, l)
	})
	e.thawed(e.b, sess)
	rival := e.session(e.b, e.cfg.MaxTTL)
	e.refused(e.b, rival, l.Key)
	e.release(e.a, sess, l)
	next := e.grant(e.b, rival, l.Key)
	e.that(next.Token > l.Token, "after a restart the token of %q went from %d to %d", l.Key, l.Token, next.Token)
}

// thawed renews the session until the store grants again, which is at once where it never froze.
func (e *env) thawed(s Store, sess lease.Session) lease.Renewal {
	e.Helper()
	end := time.Now().Add(e.cfg.MaxTTL + 5*e.unit)
	for {
		r := e.renewed(s, sess)
		if r.Incarnation.FrozenFor == 0 {
			return r
		}
		e.that(r.Incarnation.FrozenFor <= e.cfg.MaxTTL+e.unit && time.Now().Before(end), "the store stays frozen for %v, more than MaxTTL %v", r.Incarnation.FrozenFor, e.cfg.MaxTTL)
		e.sleep(min(r.Incarnation.FrozenFor+e.grace(), sess.TTL/3))
	}
}

// z04 finds the store's goroutines by a label that they inherit. In a bubble the bubble itself does it:
// it does not end before its last goroutine.
func z04(e *env) {
	if e.cfg.Bubble != nil {
		e.useAndClose(e.a, e.b)
		return
	}
	name := fmt.Sprintf("%s-%d", e.check.id, e.rnd.Uint64())
	pprof.Do(e.ctx, pprof.Labels("storetest", name), func(context.Context) {
		e.t.Run("handles", func(t *testing.T) {
			a, b := e.cfg.Open(t)
			e.useAndClose(a, b)
		})
	})
	var left string
	e.eventually(50*e.unit, func() bool {
		left = goroutinesLabelled(name)
		return left == ""
	}, "goroutines run on after their handles were closed:\n%s", lazy{&left})
}

// lazy shows what a string holds when it is printed, not when it is passed.
type lazy struct{ s *string }

func (l lazy) String() string { return *l.s }

func goroutinesLabelled(name string) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return ""
	}
	var found []string
	for g := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(g, name) {
			found = append(found, g)
		}
	}
	return strings.Join(found, "\n\n")
}

// useAndClose makes a few calls of every kind, watches where it can, and closes both handles.
func (e *env) useAndClose(a, b Store) {
	e.Helper()
	sess := lease.NewSession(e.owner(), e.long())
	if p, ok := a.(lease.Provisioner); ok {
		e.must(p.Provision(e.ctx), "Provision")
	}
	e.openAs(a, sess)
	l := e.grant(b, sess, e.key())
	if w, ok := b.(lease.Watcher); ok {
		ctx, cancel := context.WithCancel(e.ctx)
		ready, ended := make(chan struct{}), make(chan struct{})
		var once sync.Once
		go func() {
			defer close(ended)
			_ = w.Watch(ctx, func(lease.Change) { once.Do(func() { close(ready) }) })
		}()
		e.wait(ready, 25*e.unit, "Watch calls its function")
		cancel()
		e.wait(ended, 25*e.unit, "Watch returns after its context ended")
	}
	e.release(b, sess, l)
	e.closeSession(a, sess)
	for _, s := range []Store{a, b} {
		if c := closer(s); c != nil {
			c()
		}
	}
}

// wait fails the check where the channel is not closed in time.
func (e *env) wait(done <-chan struct{}, d time.Duration, format string, args ...any) {
	e.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		e.Fatalf("not within %v: %s", d, fmt.Sprintf(format, args...))
	}
}

func z05(e *env) {
	errs := make(chan error, 8)
	var wg sync.WaitGroup
	for range cap(errs) {
		wg.Go(func() {
			for e.ctx.Err() == nil {
				sess := lease.NewSession(e.owner(), e.long())
				_, err := e.a.OpenSession(e.ctx, sess)
				if err == nil {
					_, err = e.a.Acquire(e.ctx, sess, []string{"k"})
				}
				if err == nil {
					err = e.a.CloseSession(e.ctx, sess)
				}
				if err != nil {
					errs <- err
					return
				}
				pause(e.ctx, time.Millisecond)
			}
		})
	}
	e.sleep(e.unit / 4)
	closer(e.a)()
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	e.wait(ended, 25*e.unit, "calls beside Close return")
	for range cap(errs) {
		err := <-errs
		e.that(errors.Is(err, lease.ErrClosed) || errors.Is(err, lease.ErrUnavailable), "a call beside Close answered %v, want ErrClosed or ErrUnavailable", err)
	}
	e.session(e.b, e.long())
}
