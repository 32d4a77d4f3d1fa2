package drain

import "sync"

// Signal is a drain request that is made once and stays made. Its zero value is ready to use; it is
// safe for concurrent use and must not be copied. It is a [Drainable]: hand it to what should be
// asked, and watch it where the work is done. Use a new one for each term.
type Signal struct {
	mu    sync.Mutex
	ch    chan struct{}
	cause error
}

// Request makes the request and reports whether this call was the first. The first cause stays; nil
// means ErrDraining.
func (s *Signal) Request(cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != nil {
		return false
	}
	s.cause = cause
	if cause == nil {
		s.cause = ErrDraining
	}
	close(s.channel())
	return true
}

// RequestDrain implements Drainable: a request with the cause ErrDraining.
func (s *Signal) RequestDrain() { s.Request(nil) }

// Draining returns a channel that is closed by the request; always the same one.
func (s *Signal) Draining() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channel()
}

// Cause returns the first request's cause, or nil before it.
func (s *Signal) Cause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// channel makes the channel on first use. The mutex is held.
func (s *Signal) channel() chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}
