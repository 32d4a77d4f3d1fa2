package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/long"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// A random model of holders on a store that loses its data. Requests and replies are late or lost,
// holders pause, the server restarts from an old snapshot or empty. Holders follow the rules of a
// keeper: deadlines count from before the request, answers of an earlier incarnation prove nothing,
// a term that ended stays ended. At no time may two be inside a term of one key, and tokens
// of accepted grants must grow.
type model struct {
	r      *rand.Rand
	s      *memory.Store
	start  time.Time
	events []event
	seq    int
	procs  []*holder
	best   map[string]uint64
	snaps  []*memory.Snapshot
	grants int
	fault  string
}

type event struct {
	at  time.Duration
	seq int
	do  func()
}

type holder struct {
	sess  lease.Session // zero: none
	until time.Duration // the session's local deadline; negative: none
	pause time.Duration
	seen  uint64 // latest incarnation
	held  map[string]*term
	ended map[string]uint64 // tokens up to which terms are over
}

type term struct {
	lease  lease.Lease
	proven uint64 // the incarnation that it was granted or verified in
	until  time.Duration
}

const (
	ms       = time.Millisecond
	modelTTL = 40 * ms
)

func (m *model) now() time.Duration { return time.Since(m.start) }

func (m *model) after(d time.Duration, do func()) {
	m.seq++
	m.events = append(m.events, event{m.now() + d, m.seq, do})
}

func (m *model) between(lo, hi int) time.Duration { return time.Duration(lo+m.r.IntN(hi-lo+1)) * ms }

func (m *model) run() {
	for range 4 {
		h := &holder{until: -1, held: map[string]*term{}, ended: map[string]uint64{}}
		m.procs = append(m.procs, h)
		m.after(m.between(0, 5), func() { m.tick(h) })
	}
	m.after(m.between(30, 120), m.crash)
	m.after(3*ms, m.snap)
	for m.fault == "" && m.now() < 900*ms {
		i := 0
		for j, e := range m.events {
			if e.at < m.events[i].at || e.at == m.events[i].at && e.seq < m.events[i].seq {
				i = j
			}
		}
		e := m.events[i]
		m.events = slices.Delete(m.events, i, i+1)
		time.Sleep(e.at - m.now())
		e.do()
	}
}

func (m *model) snap() {
	m.snaps = append(m.snaps, m.s.Snapshot())
	m.snaps = m.snaps[max(0, len(m.snaps)-8):]
	m.after(7*ms, m.snap)
}

func (m *model) crash() {
	if len(m.snaps) > 0 && m.r.IntN(10) < 7 {
		m.s.Restore(m.snaps[m.r.IntN(len(m.snaps))])
	} else {
		m.s.Restore(nil)
	}
	m.after(m.between(40, 160), m.crash)
}

// send delivers a call late, twice or never, and its answer too. The call runs at the server;
// it returns what to do with the answer.
func (m *model) send(h *holder, call func(lease.Session) (lease.Incarnation, error, func(sent time.Duration))) {
	sess, sent := h.sess, m.now()
	late := func() time.Duration { return []time.Duration{1, 1, 2, 5, 30}[m.r.IntN(5)] * ms }
	arrive := func() {
		in, err, accept := call(sess)
		if m.r.IntN(25) > 0 {
			m.after(late(), func() { m.answer(h, sess, in, err, func() { accept(sent) }) })
		}
	}
	if m.r.IntN(25) > 0 {
		m.after(late(), arrive)
	}
	if m.r.IntN(25) == 0 {
		m.after(late(), arrive)
	}
}

func (m *model) answer(h *holder, sess lease.Session, in lease.Incarnation, err error, accept func()) {
	if sess != h.sess || in.Number < h.seen {
		return
	}
	h.seen = in.Number
	m.expire(h)
	switch {
	case errors.Is(err, lease.ErrSessionLapsed):
		m.drop(h)
	case err == nil:
		accept()
	}
	for _, key := range []string{"x", "y"} {
		inside := 0
		for _, h := range m.procs {
			if t := h.held[key]; t != nil && m.now() < t.until {
				inside++
			}
		}
		if inside > 1 {
			m.fault = fmt.Sprintf("%d owners of %s at %v", inside, key, m.now())
		}
	}
}

func (m *model) end(h *holder, key string) lease.Lease {
	l := h.held[key].lease
	h.ended[key] = l.Token
	delete(h.held, key)
	return l
}

func (m *model) drop(h *holder) {
	for key := range h.held {
		m.end(h, key)
	}
	h.sess, h.until = lease.Session{}, -1
}

func (m *model) expire(h *holder) {
	for key, t := range h.held {
		if m.now() >= t.until {
			m.end(h, key)
		}
	}
}

func (m *model) tick(h *holder) {
	m.after(m.between(2, 6), func() { m.tick(h) })
	m.expire(h)
	if h.until >= 0 && m.now() >= h.until {
		m.drop(h)
	}
	if m.now() < h.pause {
		return
	}
	switch x := m.r.Float64(); {
	case h.sess.ID == "":
		h.sess = lease.NewSession("h", modelTTL)
		m.send(h, m.open(h))
	case x < .45:
		m.send(h, m.renew(h))
	case len(h.held) > 0 && x < .7:
		m.send(h, m.verify(h))
	case x < .8:
		m.send(h, m.acquire(h, []string{"x", "y"}[m.r.IntN(2)]))
	case len(h.held) > 0 && x < .9:
		key := "x"
		if h.held["y"] != nil {
			key = "y"
		}
		l := m.end(h, key)
		m.send(h, func(s lease.Session) (lease.Incarnation, error, func(time.Duration)) {
			return lease.Incarnation{}, m.s.Release(context.Background(), s, []lease.Lease{l}), func(time.Duration) {}
		})
	case x > .97:
		h.pause = m.now() + m.between(10, 80)
	}
}

type request = func(lease.Session) (lease.Incarnation, error, func(sent time.Duration))

func (m *model) open(h *holder) request {
	return func(s lease.Session) (lease.Incarnation, error, func(time.Duration)) {
		in, err := m.s.OpenSession(context.Background(), s)
		return in, err, func(sent time.Duration) { h.until = max(h.until, sent+modelTTL) }
	}
}

func (m *model) renew(h *holder) request {
	return func(s lease.Session) (lease.Incarnation, error, func(time.Duration)) {
		r, err := m.s.Renew(context.Background(), s)
		return r.Incarnation, err, func(sent time.Duration) {
			if m.now() >= h.until {
				return
			}
			h.until = max(h.until, sent+modelTTL)
			for _, t := range h.held {
				if t.proven == r.Incarnation.Number {
					t.until = max(t.until, sent+modelTTL)
				}
			}
		}
	}
}

func (m *model) verify(h *holder) request {
	var asked []lease.Lease
	for _, t := range h.held {
		asked = append(asked, t.lease)
	}
	return func(s lease.Session) (lease.Incarnation, error, func(time.Duration)) {
		v, err := m.s.Verify(context.Background(), s, asked)
		return v.Incarnation, err, func(time.Duration) {
			if m.now() >= h.until {
				return
			}
			for _, l := range asked {
				t := h.held[l.Key]
				if t == nil || t.lease.Token != l.Token {
					continue
				}
				if slices.ContainsFunc(v.Lost, func(lost lease.Loss) bool { return lost.Lease == l }) {
					m.end(h, l.Key)
					continue
				}
				t.proven, t.until = v.Incarnation.Number, max(t.until, h.until)
			}
		}
	}
}

func (m *model) acquire(h *holder, key string) request {
	return func(s lease.Session) (lease.Incarnation, error, func(time.Duration)) {
		g, err := m.s.Acquire(context.Background(), s, []string{key})
		return g.Incarnation, err, func(time.Duration) {
			if m.now() >= h.until {
				return
			}
			for _, l := range g.Leases {
				if t := h.held[key]; t != nil && t.lease.Token == l.Token || l.Token <= h.ended[key] {
					continue
				}
				h.held[key] = &term{l, g.Incarnation.Number, h.until}
				h.ended[key] = max(h.ended[key], l.Token-1)
				m.grants++
				if m.best[key] > l.Token {
					m.fault = fmt.Sprintf("token of %s fell from %d to %d at %v", key, m.best[key], l.Token, m.now())
				}
				m.best[key] = l.Token
			}
		}
	}
}

func runModel(t *testing.T, seed uint64, guarded bool) (m *model) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := memory.New(memory.Config{MaxTTL: modelTTL, Incarnations: guarded})
		if err != nil {
			t.Fatal(err)
		}
		m = &model{r: rand.New(rand.NewPCG(seed, 0)), s: s, start: time.Now(), best: map[string]uint64{}}
		m.run()
	})
	return m
}

func TestModelOfLosses(t *testing.T) {
	runs := long.Or(200, 50)
	grants := 0
	for seed := range uint64(runs) {
		m := runModel(t, seed, true)
		if m.fault != "" {
			t.Fatalf("seed %d: %s", seed, m.fault)
		}
		grants += m.grants
	}
	if grants < 5*runs {
		t.Fatalf("only %d grants in %d runs: the model proves little", grants, runs)
	}
	t.Logf("%d runs, %d grants", runs, grants)
}

// The same model must find what the guard prevents, or it would prove nothing.
func TestModelFindsTwoOwnersWithoutTheGuard(t *testing.T) {
	for seed := range uint64(200) {
		if m := runModel(t, seed, false); m.fault != "" {
			t.Logf("seed %d: %s", seed, m.fault)
			return
		}
	}
	t.Fatal("no fault found on a store that forgets silently")
}
