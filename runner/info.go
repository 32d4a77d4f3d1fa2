package runner

import (
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// State is where a workload stands in this process.
type State string

// The states. The package documentation shows the transitions.
const (
	// Standby: no work runs; the key is contended for, or will be after a wait.
	Standby State = "standby"
	// Active: the key is held and the work runs.
	Active State = "active"
	// Draining: the key is held and the work is being wound down, or has returned and the key is being let go.
	Draining State = "draining"
	// Lost: the lease is lost; the work was cancelled and has not returned, or the key is being let go.
	Lost State = "lost"
	// Stopped: over. The work is finished, has failed under Never, or was stopped.
	Stopped State = "stopped"
)

// End says how a term's work came to its end.
type End string

// The ends of a term.
const (
	EndReturned    End = "returned"     // nil, by itself
	EndFailed      End = "failed"       // an error, by itself
	EndPanicked    End = "panicked"     // a panic, by itself
	EndLost        End = "lost"         // the lease was lost
	EndStopped     End = "stopped"      // Stop, StopAll, DrainAll, BeginDrain or the end of Run
	EndSteppedDown End = "stepped down" // StepDown
)

// Info is a snapshot of one workload, for people, pages and health checks.
type Info struct {
	Key  string
	Name string
	// State, and since when.
	State State
	Since time.Time
	// Token of the present term, or of the last one; 0 before the first.
	Token uint64
	// Left is how long the present term lasts without another renewal; 0 where there is none.
	Left time.Duration
	// Holder is who held the key when it was last refused here; empty while it is held here.
	Holder instance.ID
	// ContendsAt is when the key is contended for again; zero while nothing is waited for.
	ContendsAt time.Time
	// Stuck means that the work has ignored its cancellation for HardStop.
	Stuck bool
	// Restarts is how often the work was started here after its first start.
	Restarts int
	// Failures counts errors and panics; LastErr is the last of them, nil before the first.
	Failures int
	LastErr  error
	// Last is the last term that ended here; its Token is 0 before there is one.
	Last WorkEvent
}

// Snapshot returns every workload of the set, ordered by key.
func (s *Set) Snapshot() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Info, 0, len(s.workloads))
	for _, key := range sortedKeys(s.workloads) {
		out = append(out, s.info(s.workloads[key]))
	}
	return out
}

// Lookup returns one workload of the set.
func (s *Set) Lookup(key string) (Info, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workloads[key]
	if w == nil {
		return Info{}, false
	}
	return s.info(w), true
}

// Keys returns the keys of the set, sorted: everything that was started and not yet forgotten.
func (s *Set) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sortedKeys(s.workloads)
}

// Running returns the keys whose work runs, or whose lease is not yet let go, sorted.
func (s *Set) Running() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, key := range sortedKeys(s.workloads) {
		if s.workloads[key].run.Load() != nil {
			out = append(out, key)
		}
	}
	return out
}

// Held returns the leases under which work runs here now and which are locally valid, ordered by key: for a handler
// that serves what this process holds. It is local. The answer may be outdated when it is used, so pass the
// token along with what must not come from a former owner.
func (s *Set) Held() []lease.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []lease.Lease
	for _, key := range sortedKeys(s.workloads) {
		if l, ok := s.lease(key); ok {
			out = append(out, l)
		}
	}
	return out
}

// lease returns the lease under which the key's work runs, where it is valid. The mutex is held.
func (s *Set) lease(key string) (lease.Lease, bool) {
	w := s.workloads[key]
	if w == nil {
		return lease.Lease{}, false
	}
	r := w.run.Load()
	if r == nil || r.started.IsZero() || !r.Valid() {
		return lease.Lease{}, false
	}
	return r.Lease(), true
}

// LeaseState returns a snapshot of the session that all leases of the set hang off.
func (s *Set) LeaseState() lease.State {
	s.mu.Lock()
	k := s.keeper
	s.mu.Unlock()
	return k.State()
}

// info describes one workload. The mutex is held.
func (s *Set) info(w *workload) Info {
	i := Info{
		Key: w.spec.Key, Name: w.spec.Name, State: w.state, Since: w.since, Token: w.token,
		Restarts: max(w.terms-1, 0), Failures: w.failures, LastErr: w.lastErr,
	}
	if w.last != nil {
		i.Last = *w.last
	}
	r := w.run.Load()
	if r != nil {
		i.Left, i.Stuck = max(r.Left(), 0), r.stuck
	} else if h := w.holder.Load(); h != nil {
		i.Holder = *h
	}
	if now := s.line.Now(); r == nil && w.state == Standby && w.contendsAt() > now {
		i.ContendsAt = s.clock.Now().Add(w.contendsAt() - now)
	}
	return i
}
