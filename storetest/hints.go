package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

func hints() []check {
	watch := []Capability{Watches}
	return []check{
		{id: "W01", name: "what_others_wait_for_is_hinted", run: w01, needs: watch,
			sentence: "Watch hints that leases were released or revoked, and that members joined, left or began to drain; the first hint is a resync."},
		{id: "W02", name: "renewals_and_heartbeats_are_not_hinted", run: w02, needs: watch,
			sentence: "There is never a hint per renewal, heartbeat or extended status."},
		{id: "W03", name: "watching_ends_with_its_context", run: w03, needs: watch,
			sentence: "Watch returns why once its context ends."},
		{id: "W04", name: "a_slow_watcher_holds_nothing_up", run: w04, needs: watch,
			sentence: "Hints come one at a time to each watcher, and one that is slow delays no call."},
		{id: "W05", name: "watching_ends_with_its_handle", run: w05, needs: []Capability{Watches, Closes},
			sentence: "Watch returns when its handle is closed."},
		{id: "W06", name: "written_targets_are_hinted", run: w06, needs: []Capability{Watches, Targets},
			sentence: "An accepted PutTargets that lists an instance is hinted once, however many it lists; a claim and a refused write never are."},
		{id: "W07", name: "what_frees_nothing_is_not_hinted", run: w07, needs: watch,
			sentence: "A release is hinted only where something became free: never for a session that held nothing, nor for a lease that was over already."},
	}
}

// watching is one running Watch.
type watching struct {
	mu    sync.Mutex
	seen  []lease.Change
	ended chan struct{}
	err   error
	stop  context.CancelFunc
}

// watch starts watching and waits for the first hint.
func (e *env) watch(s Store, also func(lease.Change)) *watching {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	w := &watching{ended: make(chan struct{}), stop: cancel}
	go func() {
		defer close(w.ended)
		w.err = s.(lease.Watcher).Watch(ctx, func(c lease.Change) {
			w.mu.Lock()
			w.seen = append(w.seen, c)
			w.mu.Unlock()
			if also != nil {
				also(c)
			}
		})
	}()
	e.eventually(25*e.unit, func() bool { return w.count(func(lease.Change) bool { return true }) > 0 }, "Watch gives its first hint")
	w.mu.Lock()
	defer w.mu.Unlock()
	e.that(w.seen[0].Kind == lease.ChangeResync, "the first hint is %+v, want a resync", w.seen[0])
	return w
}

func (w *watching) count(match func(lease.Change) bool) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.seen {
		if match(c) {
			n++
		}
	}
	return n
}

func (e *env) unwatch(w *watching) {
	e.Helper()
	w.stop()
	e.wait(w.ended, 25*e.unit, "Watch returns after its context ended")
}

func w01(e *env) {
	w := e.watch(e.b, nil)
	defer e.unwatch(w)
	sess := e.session(e.a, e.cfg.MaxTTL)
	e.hinted(w, lease.ChangeReleased, "Release", func() { e.release(e.a, sess, e.grant(e.a, sess, e.key())) })
	e.hinted(w, lease.ChangeReleased, "CloseSession", func() {
		gone := e.session(e.a, e.cfg.MaxTTL)
		e.grant(e.a, gone, e.key())
		e.closeSession(e.a, gone)
	})
	if r, ok := e.a.(lease.Revoker); ok {
		e.hinted(w, lease.ChangeRevoked, "Revoke", func() { e.must(r.Revoke(e.ctx, e.grant(e.a, sess, e.key()).Key), "Revoke") })
	}
	if !e.has(Registry) {
		return
	}
	self := e.self()
	e.hinted(w, lease.ChangeJoined, "a first Heartbeat", func() { self = e.self(); e.beat(e.a, self, e.ages()) })
	e.hinted(w, lease.ChangeDraining, "BeginDrain", func() {
		self = e.self()
		e.beat(e.a, self, e.ages())
		e.must(e.a.BeginDrain(e.ctx, self.Instance.ID), "BeginDrain")
	})
	e.hinted(w, lease.ChangeLeft, "Leave", func() {
		self = e.self()
		e.beat(e.a, self, e.ages())
		e.must(e.a.Leave(e.ctx, self.Instance.ID), "Leave")
	})
}

// hinted acts until a hint of the kind comes: a single hint may be lost. A resync says as much.
func (e *env) hinted(w *watching, kind lease.ChangeKind, what string, act func()) {
	e.Helper()
	is := func(c lease.Change) bool { return c.Kind == kind || c.Kind == lease.ChangeResync }
	before := w.count(is)
	for range 5 {
		act()
		for end := time.Now().Add(5 * e.unit); time.Now().Before(end); e.sleep(e.unit / 40) {
			if w.count(is) > before {
				return
			}
		}
	}
	e.Fatalf("%s was done five times and never hinted as %q", what, kind)
}

func w02(e *env) {
	sess := e.session(e.a, e.cfg.MaxTTL)
	l := e.grant(e.a, sess, e.key())
	self := e.self()
	calm := func() {
		e.renewed(e.a, sess)
		e.held(e.a, sess, l)
		if e.has(Registry) {
			e.beat(e.a, self, e.ages())
		}
		if e.has(Status) {
			e.put(e.a, self.Instance.ID, e.ages(), status.Record{Key: l.Key, State: status.Active, Token: l.Token})
		}
	}
	calm()
	w := e.watch(e.b, nil)
	defer e.unwatch(w)
	const rounds = 30
	for range rounds {
		calm()
	}
	e.sleep(2 * e.unit)
	n := w.count(func(c lease.Change) bool { return c.Kind != lease.ChangeResync })
	e.that(n < rounds/3, "%d rounds of renewals, heartbeats and statuses made %d hints", rounds, n)
}

func w03(e *env) {
	w := e.watch(e.a, nil)
	e.unwatch(w)
	e.that(errors.Is(w.err, context.Canceled), "Watch, whose context was cancelled, returned %v, want it to match context.Canceled", w.err)
	ended, cancel := context.WithCancel(e.ctx)
	cancel()
	err := e.a.(lease.Watcher).Watch(ended, func(lease.Change) {})
	e.that(errors.Is(err, context.Canceled), "Watch with an ended context returned %v, want it to match context.Canceled", err)
}

func w04(e *env) {
	var mu sync.Mutex
	var inside, most int
	hold := make(chan struct{})
	w := e.watch(e.b, func(lease.Change) {
		mu.Lock()
		inside++
		most = max(most, inside)
		mu.Unlock()
		<-hold
		mu.Lock()
		inside--
		mu.Unlock()
	})
	defer e.unwatch(w)
	defer sync.OnceFunc(func() { close(hold) })()
	sess, rival := e.session(e.a, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	done := make(chan error, 1)
	go func() { done <- e.passBack(sess, rival, 200) }()
	timer := time.NewTimer(50 * e.unit)
	defer timer.Stop()
	select {
	case err := <-done:
		e.must(err, "a call beside a slow watcher")
	case <-timer.C:
		e.Fatalf("calls hang while a watcher is busy with its hint")
	}
	mu.Lock()
	defer mu.Unlock()
	e.that(most <= 1, "%d hints came to one watcher at a time", most)
}

// passBack lets two sessions pass a key back and forth n times. It returns the first error.
func (e *env) passBack(one, two lease.Session, n int) error {
	for i := range n {
		s, sess := e.a, one
		if i%2 == 1 {
			s, sess = e.b, two
		}
		g, err := s.Acquire(e.ctx, sess, []string{"ball"})
		if err == nil {
			err = s.Release(e.ctx, sess, g.Leases)
		}
		if err == nil && i%10 < 2 { // on a slow machine it takes longer than the sessions live
			_, err = s.Renew(e.ctx, sess)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func w05(e *env) {
	w := e.watch(e.a, nil)
	defer w.stop()
	closer(e.a)()
	e.wait(w.ended, 25*e.unit, "Watch returns after its handle was closed")
	e.that(w.err != nil, "Watch, whose handle was closed, returned no reason")
}

func w06(e *env) {
	w := e.watch(e.b, nil)
	defer e.unwatch(w)
	planned := func(c lease.Change) bool { return c.Kind == lease.ChangePlanned }
	head := e.head(7, 1)
	sets := make([]assigner.Set, 100)
	for i := range sets {
		sets[i].Instance = instance.ID(fmt.Sprint("instance-", i))
	}
	e.hinted(w, lease.ChangePlanned, "PutTargets with sets", func() { e.putTargets(e.a, head, sets) })
	e.hinted(w, lease.ChangePlanned, "PutTargets with gone", func() { e.putTargets(e.a, head, nil, "instance-1") })

	const rounds = 30
	e.sleep(2 * e.unit)
	before := w.count(planned)
	for range rounds {
		e.putTargets(e.a, head, nil)
		e.superseded(e.a, e.head(6, 9), sets)
	}
	e.sleep(2 * e.unit)
	n := w.count(planned) - before
	e.that(n < rounds/3, "%d claims and as many refused writes made %d hints", rounds, n)
	for range rounds {
		e.putTargets(e.a, head, sets)
	}
	e.sleep(2 * e.unit)
	n = w.count(planned) - before
	e.that(n <= 2*rounds, "%d writes of %d sets each made %d hints, want one for each write", rounds, len(sets), n)
}

func w07(e *env) {
	brief := e.session(e.a, 2*e.unit)
	over := e.grant(e.a, brief, e.key())
	holder, idle, empty := e.session(e.a, e.cfg.MaxTTL), e.session(e.a, e.cfg.MaxTTL), e.session(e.a, e.cfg.MaxTTL)
	kept, given := e.grant(e.a, holder, e.key()), e.grant(e.a, empty, e.key())
	e.release(e.a, empty, given)
	e.sleep(3 * e.unit)
	w := e.watch(e.b, nil)
	defer e.unwatch(w)
	older := kept
	older.Token--
	for range 2 {
		e.release(e.a, holder, given, older)
		e.release(e.a, empty, given, kept)
		e.release(e.a, brief, over)
		for _, sess := range []lease.Session{idle, empty, brief, lease.NewSession(e.owner(), e.long())} {
			e.closeSession(e.a, sess)
		}
	}
	e.sleep(2 * e.unit)
	released := w.count(func(c lease.Change) bool { return c.Kind == lease.ChangeReleased })
	e.that(released == 0, "nothing became free, and %d hints say that something was released", released)
	e.held(e.b, holder, kept)
}
