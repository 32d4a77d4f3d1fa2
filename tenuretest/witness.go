package tenuretest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/runner"
)

// ErrKilled is the cause of a worker's context whose instance was killed. A real process is not
// told: its worker is just gone. A worker that sees it should return without any cleaning up.
var ErrKilled = errors.New("tenuretest: instance killed")

// shift is one call of a work: from its begin until it has returned.
type shift struct {
	key   string
	id    instance.ID
	term  *runner.Term
	token uint64
	ctx   context.Context
	began time.Time
	ghost bool // of a process that is dead, or stood still when the term ran out: it proves nothing
}

// witness sees every call of a work in a fleet, and fails the test where there is one too many. It
// is safe for concurrent use.
type witness struct {
	t     testing.TB
	began time.Time

	mu     sync.Mutex
	open   map[string][]*shift // per key; more than one only beside ghosts, or after a failure
	tokens map[string]uint64   // per key, the highest seen
	starts map[string]int
	paused map[instance.ID]bool
	tale   []string
}

// mostTale is how many lines of a fleet's history a failure shows.
const mostTale = 30

func newWitness(t testing.TB) *witness {
	return &witness{
		t: t, began: time.Now(), open: map[string][]*shift{}, tokens: map[string]uint64{},
		starts: map[string]int{}, paused: map[instance.ID]bool{},
	}
}

// tell adds a line to the fleet's history. The mutex is held.
func (w *witness) tell(format string, args ...any) {
	w.tale = append(w.tale, fmt.Sprintf("  %8s  ", time.Since(w.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
	if len(w.tale) > mostTale {
		w.tale = w.tale[1:]
	}
}

func (w *witness) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(format, args...)
}

// history is what happened last.
func (w *witness) history() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return "what happened before:\n" + strings.Join(w.tale, "\n")
}

// enter notes that a work was called.
func (w *witness) enter(ctx context.Context, id instance.ID, term *runner.Term) *shift {
	s := &shift{key: term.Key(), id: id, term: term, token: term.Token(), ctx: ctx, began: time.Now()}
	w.mu.Lock()
	var faults []string
	for _, o := range w.open[s.key] {
		o.ghost = o.ghost || w.paused[o.id] && !o.term.Valid()
		if !o.ghost {
			faults = append(faults, fmt.Sprintf("two workers of %q: %s begins (token %d) while %s", s.key, id, s.token, o.describe()))
		}
	}
	if highest := w.tokens[s.key]; s.token <= highest {
		faults = append(faults, fmt.Sprintf("the token of %q fell: %s begins with %d after %d was seen", s.key, id, s.token, highest))
	}
	w.tokens[s.key] = max(w.tokens[s.key], s.token)
	w.open[s.key] = append(w.open[s.key], s)
	w.starts[s.key]++
	w.tell("%s runs %q, token %d", id, s.key, s.token)
	w.mu.Unlock()
	for _, f := range faults {
		w.t.Errorf("%s\n%s", f, w.history())
	}
	return s
}

// describe says how a worker comes to be still there.
func (s *shift) describe() string {
	at := fmt.Sprintf("the one on %s (token %d, since %v)", s.id, s.token, time.Since(s.began).Round(time.Millisecond))
	switch {
	case s.term.Valid():
		return at + " holds a valid term"
	case s.ctx.Err() != nil:
		return fmt.Sprintf("%s has not returned, though its context has ended (%v): a worker must return within the timing's Margin after that", at, context.Cause(s.ctx))
	}
	return at + " was not told that its term is over"
}

// exit notes that a work has returned.
func (w *witness) exit(s *shift, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[s.key] = slices.DeleteFunc(w.open[s.key], func(o *shift) bool { return o == s })
	if len(w.open[s.key]) == 0 {
		delete(w.open, s.key)
	}
	if !s.ghost {
		w.tell("%s has returned from %q: %v", s.id, s.key, err)
	}
}

// bury notes that a process is dead, and its workers with it.
func (w *witness) bury(id instance.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell("%s is killed", id)
	for _, all := range w.open {
		for _, s := range all {
			s.ghost = s.ghost || s.id == id
		}
	}
}

// pause notes that a process stands still, or goes on. What ran out meanwhile stays a ghost.
func (w *witness) pause(id instance.ID, paused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !paused {
		for _, all := range w.open {
			for _, s := range all {
				s.ghost = s.ghost || s.id == id && !s.term.Valid()
			}
		}
	}
	w.paused[id] = paused
	w.tell("%s %s", id, map[bool]string{true: "is paused", false: "goes on"}[paused])
}

// owner returns who runs the key under a valid term; empty for nobody.
func (w *witness) owner(key string) instance.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.open[key] {
		if !s.ghost && s.term.Valid() {
			return s.id
		}
	}
	return ""
}

// owners returns it for every key that has one.
func (w *witness) owners() map[string]instance.ID {
	w.mu.Lock()
	keys := slices.Collect(maps.Keys(w.open))
	w.mu.Unlock()
	out := map[string]instance.ID{}
	for _, key := range keys {
		if id := w.owner(key); id != "" {
			out[key] = id
		}
	}
	return out
}

func (w *witness) startsOf(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.starts[key]
}
