package coordinator

import "time"

// settleMost is after how many settle windows of unbroken change healthy workloads move all the
// same: a fleet that is never quiet must not stay uneven for ever.
const settleMost = 5

// settling tells when a fleet has been quiet for long enough to move healthy workloads. Times are
// on the engine's line. The loop owns it.
type settling struct {
	window  time.Duration
	changed time.Duration // last change
	since   time.Duration // first change that has not settled
	open    bool          // a change has not settled yet
}

// change notes that the membership or the catalogue changed.
func (s *settling) change(now time.Duration) {
	if !s.open || now >= s.at() {
		s.since = now
	}
	s.changed, s.open = now, true
}

// at is when the last change has settled.
func (s *settling) at() time.Duration {
	return min(s.changed+s.window, s.since+settleMost*s.window)
}

// settled reports whether the fleet has been quiet for the window.
func (s *settling) settled(now time.Duration) bool {
	if s.open && now >= s.at() {
		s.open = false
	}
	return !s.open
}
