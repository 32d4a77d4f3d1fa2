package witness

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Errors of Append.
var (
	// ErrStale: a newer token was seen for the workload. The writer's term is over.
	ErrStale = errors.New("token is older than one already seen")
	// ErrRefused: the entry or event makes no sense.
	ErrRefused = errors.New("refused")
)

// Witness judges. It is safe for concurrent use.
type Witness struct {
	fresh  time.Duration
	now    func() Stamp
	listen func(Event)

	mu        sync.Mutex
	workloads map[string]*history
	catalogue []string // ordered; what counts for balance
	pods      map[string]*pod
	stats     stats
}

// pod is a process as the witness knows it.
type pod struct {
	joined, paused, draining, left bool
	killed                         Stamp // 0: not killed
}

// gone reports whether the process cannot act any more.
func (p *pod) gone() bool { return p.left || p.killed != 0 }

// takes reports whether the process may be given work.
func (p *pod) takes() bool { return p.joined && !p.gone() && !p.draining && !p.paused }

// New returns a witness for a catalogue and singleton jobs beside it. A workload counts as owned while its
// owner's last sign is at most fresh old. Every event is passed on to listen, in order; it must not
// block and must not call the witness.
func New(catalogue, singletons []string, fresh time.Duration, listen func(Event)) *Witness {
	w := &Witness{
		fresh: fresh, now: Now, listen: listen,
		workloads: map[string]*history{}, pods: map[string]*pod{},
		catalogue: slices.Sorted(slices.Values(catalogue)),
	}
	for _, key := range slices.Concat(catalogue, singletons) {
		w.workloads[key] = &history{}
	}
	return w
}

// Append adds an entry to the ledger, or refuses it. A refused one counts as evidence all the same.
func (w *Witness) Append(e Write) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, err := w.look(e.Workload, e.Pod, e.Token, e.At)
	if err != nil {
		return err
	}
	stale := e.Token < h.highest
	t := h.term(e.Token, e.Pod)
	w.acted(h, t, e.At)
	if stale {
		w.stats.stale++
		return fmt.Errorf("%q token %d from %s, newest is %d: %w", e.Workload, e.Token, e.Pod, h.highest, ErrStale)
	}
	w.stats.writes++
	t.seen = w.now()
	return nil
}

// Record notes an event.
func (w *Witness) Record(e Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	record := w.recordTerm
	if e.Workload == "" {
		record = w.recordPod
	}
	if err := record(e); err != nil {
		return err
	}
	w.listen(e)
	return nil
}

// look finds the workload of an entry that can be true. The mutex is held.
func (w *Witness) look(workload, pod string, token uint64, at Stamp) (*history, error) {
	h := w.workloads[workload]
	switch {
	case h == nil:
		return nil, fmt.Errorf("%w: workload %q is not in the catalogue", ErrRefused, workload)
	case pod == "" || token == 0:
		return nil, fmt.Errorf("%w: pod %q and token %d must both be given", ErrRefused, pod, token)
	case at <= 0 || at > w.now():
		return nil, fmt.Errorf("%w: stamp %d is not a past reading of this machine's clock", ErrRefused, at)
	}
	return h, nil
}

// acted notes that the term was valid at some instant not before at.
func (w *Witness) acted(h *history, t *term, at Stamp) {
	if h.zombie(t, at) {
		w.stats.split++
	}
	h.prove(t, at)
	w.stats.split += h.clash(t)
}

func (w *Witness) recordPod(e Event) error {
	if e.Kind == Wiped {
		return nil // it is about the store
	}
	if e.Pod == "" {
		return fmt.Errorf("%w: event %q without a pod", ErrRefused, e.Kind)
	}
	p := w.pods[e.Pod]
	if p == nil {
		p = &pod{}
		w.pods[e.Pod] = p
	}
	switch e.Kind {
	case Joined:
		p.joined = true
	case Draining:
		p.draining = true
	case Left:
		p.left = true
	case Killed:
		p.killed = e.At
	case Paused:
		p.paused = true
	case Resumed:
		p.paused = false
	default:
		return fmt.Errorf("%w: event %q of a pod", ErrRefused, e.Kind)
	}
	return nil
}

func (w *Witness) recordTerm(e Event) error {
	h, err := w.look(e.Workload, e.Pod, e.Token, e.At)
	if err != nil {
		return err
	}
	t := h.term(e.Token, e.Pod)
	switch e.Kind {
	case Started:
		t.started, t.seen = e.At, w.now()
		w.began(e.Workload, h, t)
	case Draining:
		t.draining = true
	case Stopped, Lost:
		if e.Valid {
			w.acted(h, t, e.At)
		}
		t.ended, t.endedAt = e.Kind, e.At
		return nil
	default:
		return fmt.Errorf("%w: event %q of a workload", ErrRefused, e.Kind)
	}
	if e.Valid {
		w.acted(h, t, e.At)
	}
	return nil
}

// began measures how the workload came here.
func (w *Witness) began(key string, h *history, t *term) {
	old := h.before(t)
	if old == nil || old.pod == t.pod || w.stats.closed {
		return
	}
	if _, listed := slices.BinarySearch(w.catalogue, key); listed {
		w.stats.moves++
	}
	p := w.pods[old.pod]
	switch {
	case old.ended == Stopped:
		w.stats.handovers = append(w.stats.handovers, t.started.Sub(old.endedAt))
	case old.ended == "" && p != nil && p.killed != 0:
		w.stats.failovers = append(w.stats.failovers, t.started.Sub(p.killed))
	}
}
