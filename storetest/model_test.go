package storetest

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// bug names one thing that a model store does wrong; the empty bug is none.
type bug string

// model is a store that the suite is tested with: every fault can be done to it, and one bug can be
// put into it. It is written apart from package memory, so that no error is in both.
type model struct {
	bug    bug
	maxTTL time.Duration
	mu     sync.Mutex
	offset time.Duration // of the store's clock
	life   uint64        // the fingerprint of the server
	watch  map[*modelWatch]bool
	busy   atomic.Int32
	list   []lease.Lease // for one bug
	state
}

// state is what the model may lose.
type state struct {
	marker   uint64 // fingerprint; 0: none
	number   uint64
	thaws    time.Time
	floor    uint64
	sessions map[string]modelSession
	leases   map[string]modelLease
	gen      registry.Generation
	members  map[instance.ID]modelMember
	marks    map[instance.ID]bool // drain marks of the unknown, for one bug
	lives    map[instance.ID]time.Time
	statuses map[string]status.Record
	ends     map[string]time.Time // of statuses, for one bug
	planHead assigner.Head
	sets     map[instance.ID]assigner.Set
}

type modelSession struct {
	owner    instance.ID
	ends     time.Time
	revision uint64
	closed   bool
}

type modelLease struct {
	lease.Lease
	number  uint64
	revoked time.Time
}

type modelMember struct {
	registry.Member
	ends time.Time
}

func (s state) clone() state {
	c := s
	c.sessions, c.leases, c.members, c.lives = copyMap(s.sessions), copyMap(s.leases), copyMap(s.members), copyMap(s.lives)
	c.statuses, c.ends, c.marks, c.sets = copyMap(s.statuses), copyMap(s.ends), copyMap(s.marks), copyMap(s.sets)
	return c
}

func copyMap[K comparable, V any](m map[K]V) map[K]V {
	c := map[K]V{}
	maps.Copy(c, m)
	return c
}

func newModel(b bug, maxTTL time.Duration) *model {
	return &model{bug: b, maxTTL: maxTTL, life: 1, watch: map[*modelWatch]bool{}, state: state{}.clone()}
}

// handle is one client of the model.
type handle struct {
	*model
	local  map[string]modelSession // for one bug
	stale  map[string]bool         // for one bug
	skew   time.Duration
	delay  time.Duration
	drop   bool
	frozen chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (m *model) handle() *handle {
	return &handle{model: m, closed: make(chan struct{}), local: map[string]modelSession{}, stale: map[string]bool{}}
}

// call is one call by a client: it may be late, get no answer, or lose it.
func (h *handle) call(ctx context.Context, op string, f func(now time.Time) error) error {
	if err := ctx.Err(); err != nil && h.bug != ctxIgnored {
		return fault.Unavailable(op, err)
	}
	if h.isClosed() && h.bug != useAfterClose && ctx.Value(aboard{}) == nil {
		if h.bug == closedOddly {
			return errors.New("EOF")
		}
		return lease.ErrClosed
	}
	aboard := ctx.Value(aboard{}) != nil
	if !aboard {
		if err := h.travel(ctx); err != nil {
			return fault.Unavailable(op, err)
		}
	}
	h.mu.Lock()
	now := time.Now().Add(h.offset)
	if h.bug == clientClock {
		now = now.Add(h.skew)
	}
	h.bury(now)
	err := f(now)
	drop := h.drop && !aboard
	if drop {
		h.drop = false
	}
	h.mu.Unlock()
	if drop {
		return fault.Unavailable(op, nil)
	}
	return err
}

// travel is the way to the store.
func (h *handle) travel(ctx context.Context) error {
	h.mu.Lock()
	frozen, delay := h.frozen, h.delay
	h.mu.Unlock()
	done := ctx.Done()
	if h.bug == hangsOn {
		late, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		done = late.Done()
	}
	if frozen != nil {
		select {
		case <-frozen:
		case <-done:
			return context.Cause(ctx)
		}
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-done:
			return context.Cause(ctx)
		}
	}
	return nil
}

func (h *handle) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

func (h *handle) Close() error {
	h.once.Do(func() {
		close(h.closed)
		if h.bug == closeLetsGo {
			h.mu.Lock()
			clear(h.leases)
			h.mu.Unlock()
		}
	})
	return nil
}

func (m *model) restart(s state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life++
	m.state = s.clone()
}

// modelFaults does everything that can be done to a model.
func modelFaults() Faults {
	h := func(s Store) *handle { return s.(*handle) }
	locked := func(s Store, f func(h *handle)) {
		h(s).mu.Lock()
		defer h(s).mu.Unlock()
		f(h(s))
	}
	return Faults{
		DropReply: func(_ *testing.T, s Store) { locked(s, func(h *handle) { h.drop = true }) },
		Delay:     func(_ *testing.T, s Store, d time.Duration) { locked(s, func(h *handle) { h.delay = d }) },
		Skew:      func(_ *testing.T, s Store, d time.Duration) { locked(s, func(h *handle) { h.skew = d }) },
		Step:      func(_ *testing.T, s Store, d time.Duration) { locked(s, func(h *handle) { h.offset += d }) },
		Freeze: func(_ *testing.T, s Store) func() {
			c := make(chan struct{})
			locked(s, func(h *handle) { h.frozen = c })
			return func() {
				locked(s, func(h *handle) { h.frozen = nil })
				close(c)
			}
		},
		Wipe: func(_ *testing.T, s Store) { h(s).restart(state{}) },
		Snapshot: func(_ *testing.T, s Store) func() {
			var kept state
			locked(s, func(h *handle) { kept = h.state.clone() })
			return func() { h(s).restart(kept) }
		},
		Kill: func(_ *testing.T, s Store) {
			var kept state
			locked(s, func(h *handle) { kept = h.state.clone() })
			if h(s).bug == restartForgets {
				clear(kept.leases)
				kept.marker = h(s).life + 1
			}
			if h(s).bug == restartForgetsPlan {
				clear(kept.sets)
				kept.planHead = assigner.Head{}
			}
			h(s).restart(kept)
		},
	}
}
