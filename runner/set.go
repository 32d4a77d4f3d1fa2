package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/notify"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/tick"
)

// Set drives any number of workloads over one session: one loop for all of them, and one
// goroutine for each whose work runs. Make one with NewSet and call Run; it is safe for
// concurrent use, and its methods other than Run never block.
type Set struct {
	manager lease.Manager
	owner   instance.ID
	cfg     Config
	timing  lease.Timing
	clock   clock.Clock
	line    clock.Line
	observe observers
	gate    call.Gate
	trips   *tick.Board // nil: the store cannot make trips of several calls

	events  notify.Queue // observers and logs
	alarms  notify.Queue // OnStuck, which no slow observer may hold up
	inbox   inbox
	calls   sync.WaitGroup // store calls beside the loop
	wake    chan struct{}
	changed chan struct{}
	drained chan struct{}

	mu        sync.Mutex
	phase     phase
	keeper    *lease.Keeper
	workCtx   context.Context // parent of every worker's: the values of Run's context without its end
	callCtx   context.Context // of store calls
	workloads map[string]*workload
	timers    timers
	left      Info           // of the workload that was forgotten last
	requests  map[string]int // RequestDrain calls that have not returned, per key
	yielding  map[*workload]struct{}
	pub       publisher
	looking   bool          // for other holders of yielded keys
	lookAt    time.Duration // not before

	open       int // workloads that are not Stopped
	working    int // terms whose work has not returned
	unreleased int // terms whose release has not begun
	draining   bool
	stopping   bool
	untilIdle  bool          // Run ends when nothing is open
	deadline   time.Duration // of the stop; 0 until it begins
}

// phase is where the set stands in its own life.
type phase int

const (
	idle phase = iota
	running
	spent // Run has ended; the keeper cannot be used again
)

// NewSet returns an empty set for the owner's workloads, with leases in m. It does no I/O. Errors
// match lease.ErrInvalid and name the field.
func NewSet(m lease.Manager, owner instance.ID, cfg Config) (*Set, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	c := clock.Or(cfg.Clock)
	s := &Set{
		manager: m, owner: owner, cfg: cfg, clock: c, line: clock.NewLine(c), observe: splitObservers(cfg.Observers),
		wake: make(chan struct{}, 1), changed: make(chan struct{}, 1), drained: make(chan struct{}),
		workloads: map[string]*workload{}, requests: map[string]int{}, yielding: map[*workload]struct{}{},
	}
	s.pub = newPublisher()
	if s.trips = cfg.Trips; s.trips == nil {
		s.trips = tick.NewBoard(m, c)
	}
	if s.keeper, err = s.newKeeper(); err != nil {
		return nil, err
	}
	s.timing = s.keeper.Timing()
	return s, nil
}

func (s *Set) newKeeper() (*lease.Keeper, error) {
	var carrier lease.Carrier
	if s.trips != nil {
		carrier = s.trips
	}
	return lease.NewKeeper(s.manager, s.owner, lease.KeeperConfig{
		Timing: s.cfg.Timing, Logger: s.cfg.Logger, Observers: s.cfg.Observers,
		OnChange: s.cfg.OnChange, VerifySlice: s.cfg.VerifySlice, Carrier: carrier, Clock: s.cfg.Clock,
	})
}

// Start contends for the spec's key from now on, and runs its work whenever the key is won. It may
// be called before Run and during it. lease.ErrHeldHere: the key is in the set, maybe still winding
// down; look again after Changed. drain.ErrDraining: the set is draining. lease.ErrStopped: Run is
// ending. ErrStuck: a worker of an earlier Run has not returned. lease.ErrInvalid: the spec cannot
// be used.
func (s *Set) Start(spec Spec) error {
	spec, err := spec.check()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return err
	}
	switch {
	case s.draining:
		return fmt.Errorf("start of %q: %w", spec.Key, drain.ErrDraining)
	case s.stopping:
		return fmt.Errorf("start of %q: %w", spec.Key, lease.ErrStopped)
	case s.workloads[spec.Key] != nil:
		return fmt.Errorf("start of %q: %w", spec.Key, lease.ErrHeldHere)
	}
	w := &workload{set: s, spec: spec, heapPos: -1}
	if w.claim, err = s.keeper.Claim(spec.Key, w); err != nil {
		return fmt.Errorf("start of %q: %w", spec.Key, err)
	}
	s.workloads[spec.Key] = w
	s.enter(w, Standby)
	return nil
}

// Stop winds a workload down and takes it out of the set: drain, wait for the work while the lease
// is renewed, publish Inactive, release, forget. A key that is not in the set is no error, and
// stopping twice changes nothing.
func (s *Set) Stop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workloads[key]; w != nil {
		s.stop(w)
	}
	s.poke()
}

// StopAll stops every workload that is in the set now.
func (s *Set) StopAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopAll()
	s.poke()
}

// DrainAll stops every workload and refuses new ones from now on. There is no way back; Run goes
// on until its context ends.
func (s *Set) DrainAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	s.stopAll()
	if s.open == 0 {
		s.closeDrained()
	}
	s.poke()
}

// Drained is closed once DrainAll was called and nothing runs here any more, all keys let go.
func (s *Set) Drained() <-chan struct{} { return s.drained }

// StepDown winds the present term down, if there is one, and then lets someone else have the key:
// it is not contended for until another was seen holding it, or one LeaseTTL has passed. The
// workload stays in the set.
func (s *Set) StepDown(key string) { s.stepDown(key) }

// stepDown returns a channel that is closed when the term is over, nil where there is none.
func (s *Set) stepDown(key string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.poke()
	w := s.workloads[key]
	if w == nil || w.state == Stopped {
		return nil
	}
	r := w.run.Load()
	if r == nil {
		s.yield(w) // a grant that is on its way is given back
		w.claim.ContendAfter(w.contendsAt() - s.line.Now())
		return nil
	}
	w.yielding = true
	s.wind(w, EndSteppedDown)
	if r.gone == nil {
		r.gone = make(chan struct{})
	}
	return r.gone
}

// Changed signals that a workload has changed its state: one signal may stand for many changes. It
// is for one reader, such as a coordinator that waits for a stopped workload to be gone.
func (s *Set) Changed() <-chan struct{} { return s.changed }

// stop winds one workload down for good. The mutex is held.
func (s *Set) stop(w *workload) {
	w.stopping = true
	if w.run.Load() == nil {
		s.forget(w)
		return
	}
	s.wind(w, EndStopped)
}

func (s *Set) stopAll() {
	for _, key := range sortedKeys(s.workloads) {
		s.stop(s.workloads[key])
	}
}

// closeDrained says that a drain is over. The mutex is held.
func (s *Set) closeDrained() {
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
