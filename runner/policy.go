package runner

import "strings"

// judge decides what follows a term whose work has returned. The mutex is held.
func (s *Set) judge(w *workload, r *run) {
	policy := s.cfg.Restart
	interrupted := r.lost != nil || r.winding
	switch {
	case r.err != nil:
		w.failures++
		w.lastErr = r.err
		if r.ran >= s.cfg.Backoff.Max {
			w.streak = 0
		}
		w.streak++
		if policy == Never {
			w.finished = true
			return
		}
		s.retry(w, w.streak)
	case interrupted:
		w.streak = 0
	case policy == Always:
		w.streak = 0
		s.retry(w, 1)
	default:
		w.finished = true
	}
}

// retry puts off the next term.
func (s *Set) retry(w *workload, n int) {
	w.retryAt = s.line.Now() + s.cfg.Backoff.wait(n, s.clock.Float64())
}

// yield keeps the key from being contended for until another was seen holding it, or one TTL has
// passed. The mutex is held.
func (s *Set) yield(w *workload) {
	now := s.line.Now()
	w.yieldUntil = now + s.timing.LeaseTTL
	if len(s.yielding) == 0 {
		s.lookAt = now + s.later(s.timing.RenewInterval) // nobody can hold it yet
	}
	s.yielding[w] = struct{}{}
}

// lastWords is the text of a workload's last status: the failure, in one short line, or its info.
func lastWords(info string, err error) string {
	if err == nil {
		return info
	}
	const most = 500
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.ReplaceAll(strings.ToValidUTF8(line, "?"), "\x00", "?")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}
