package memory

// Sizes tells how many sessions and lease records are kept, swept or not.
func (s *Store) Sizes() (sessions, leases int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions), len(s.leases)
}
