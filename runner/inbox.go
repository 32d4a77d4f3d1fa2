package runner

import "sync"

// inbox carries events to the loop from those who must not wait: the keeper's callbacks, returning
// workers and answered store calls. Its mutex is never held while anything else is done.
type inbox struct {
	mu     sync.Mutex
	events []func()
}

// post appends an event and wakes the loop.
func (s *Set) post(f func()) {
	s.inbox.mu.Lock()
	s.inbox.events = append(s.inbox.events, f)
	s.inbox.mu.Unlock()
	s.poke()
}

// take returns what was posted and empties the inbox.
func (i *inbox) take() []func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	events := i.events
	i.events = nil
	return events
}

// handle runs what was posted, each event with the set's mutex held.
func (s *Set) handle() {
	for _, f := range s.inbox.take() {
		s.mu.Lock()
		f()
		s.mu.Unlock()
	}
}

// poke makes the loop look again.
func (s *Set) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
