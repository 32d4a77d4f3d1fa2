package storetest

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// worker is a client that acquires, renews, verifies, releases and dies at random, and logs all of it.
// Like a keeper it never uses a term that it let go, and a new session after the old one ended.
type worker struct {
	recorder
	e      *env
	rnd    *rand.Rand
	ttl    time.Duration
	sess   lease.Session
	open   bool
	holds  map[string]lease.Lease
	mortal bool  // dies now and then without a word
	shaky  bool  // calls may fail with an unknown outcome
	broken error // an error that a healthy store must not answer
}

func (e *env) worker(h *history, i int, seed uint64, ttl time.Duration) *worker {
	s := e.a
	if i%2 == 1 {
		s = e.b
	}
	return &worker{recorder: recorder{s, h}, e: e, rnd: rand.New(rand.NewPCG(seed, uint64(i))), ttl: ttl, holds: map[string]lease.Lease{}}
}

// see keeps what an answer means for the worker: a session that is over takes everything with it.
func (w *worker) see(err error) bool {
	if err == nil {
		return true
	}
	done, over, unknown := fate(err)
	switch {
	case over:
		w.open = false
		clear(w.holds)
	case unknown && w.shaky:
	case !done:
		w.broken = err
	}
	return false
}

func (w *worker) step(ctx context.Context, keys []string) {
	if !w.open {
		w.sess = lease.NewSession(w.e.owner(), w.ttl)
		clear(w.holds)
		w.open = w.see(w.recorder.open(ctx, w.sess))
		return
	}
	switch p := w.rnd.IntN(100); {
	case p < 45:
		w.take(ctx, keys)
	case p < 60:
		w.see(w.renew(ctx, w.sess))
	case p < 75:
		w.check(ctx)
	case p < 93:
		w.letGo(ctx)
	case p < 96:
		w.leave(ctx)
	case w.mortal:
		w.open = false // as if the process had died: the session runs out
	}
}

func (w *worker) take(ctx context.Context, keys []string) {
	some := make([]string, 0, 4)
	for range 1 + w.rnd.IntN(min(4, len(keys))) {
		some = append(some, keys[w.rnd.IntN(len(keys))])
	}
	g, err := w.acquire(ctx, w.sess, some...)
	if w.see(err) {
		for _, l := range g.Leases {
			w.holds[l.Key] = l
		}
	}
}

func (w *worker) check(ctx context.Context) {
	v, err := w.verify(ctx, w.sess, w.held()...)
	if w.see(err) {
		for _, l := range v.Lost {
			delete(w.holds, l.Lease.Key)
		}
	}
}

func (w *worker) letGo(ctx context.Context) {
	for _, l := range w.held() {
		if w.rnd.IntN(2) == 0 {
			delete(w.holds, l.Key) // ended before it is sent, whatever comes of it
			w.see(w.release(ctx, w.sess, l))
			return
		}
	}
}

func (w *worker) leave(ctx context.Context) {
	if w.open {
		w.open = false
		clear(w.holds)
		w.see(w.recorder.close(ctx, w.sess))
	}
}

func (w *worker) held() []lease.Lease {
	list := make([]lease.Lease, 0, len(w.holds))
	for _, k := range sortedKeys(w.holds) {
		list = append(list, w.holds[k])
	}
	return list
}
