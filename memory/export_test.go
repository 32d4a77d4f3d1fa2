package memory

// Kept tells how much is kept in memory, swept or not.
func (s *Store) Kept() (sessions, leases, statuses, watchers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions), len(s.leases), len(s.statuses), len(s.watchers)
}
