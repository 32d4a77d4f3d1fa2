package lease

import (
	"container/heap"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/internal/notify"
)

// KeeperConfig holds what is optional. The zero value is the documented defaults.
type KeeperConfig struct {
	// Timing; see its fields for the defaults.
	Timing Timing
	// Logger receives what the keeper does; nil means silent.
	Logger *slog.Logger
	// Observers are told of events: each may implement RenewObserver, TermObserver and CallObserver.
	Observers []any
	// OnChange is called with every hint of the store, after the keeper has used it. It must return quickly.
	OnChange func(Change)
	// VerifySlice is how many leases are verified each interval, in rotation; default 100.
	VerifySlice int
	// Carrier makes one trip of what is due at once; nil means a call for each. It is for the engines of this module.
	Carrier Carrier
	// Clock is for simulations inside this module; nil means the machine's clock.
	Clock clock.Clock
}

// Carrier takes a renewal, and the verification of the leases with it, to the store in one round trip. What
// either of them means, and how long it may take, is as in two calls. Package tick has the one that there is.
type Carrier interface {
	// Carry makes the trip. It returns within limit, whatever the store does. Where there are no leases nothing is verified.
	Carry(ctx context.Context, g *call.Gate, limit time.Duration, s Session, leases []Lease) Carried
	// Announce tells when the next trip leaves: in that long, or not for all that is known where it is negative.
	Announce(in time.Duration)
}

// Carried is what a trip brought back, each part by itself.
type Carried struct {
	Renewal      Renewal
	RenewErr     error
	Verification Verification
	VerifyErr    error
}

// Keeper owns one session of one instance and everything that hangs off it: it batches
// acquisitions, renews, verifies, releases, and ends terms at their local deadline whatever the
// store is doing. Make one with NewKeeper and call Run; it is safe for concurrent use.
type Keeper struct {
	manager Manager
	owner   instance.ID
	timing  Timing
	slice   int
	clock   clock.Clock
	line    clock.Line
	gates   [kinds]call.Gate // one for each kind of call: what hangs in one refuses no other
	events  notify.Queue
	observe observers
	log     *slog.Logger
	hint    func(Change)
	carrier Carrier // nil: none

	wake    chan struct{}
	answers chan answer
	done    chan struct{} // closed when Run has returned

	mu      sync.Mutex
	running bool
	stopped bool
	entries map[string]*entry
	queue   queue
	asked   []*entry           // of the newest Acquire
	ended   map[string]uint64  // per key, the newest token that ended here, of late; see end
	before  map[string]uint64  // the same, of earlier
	turned  time.Duration      // when ended was begun
	session *session           // nil while nothing is held or wanted
	holds   []*Hold            // live terms, in no order
	suspect map[*Hold]struct{} // live terms that must be verified before anything else is
	doubts  uint64             // how often all were suspected: a Verify that was sent before proves nothing
	// incarnation is the newest number seen in any answer.
	incarnation uint64
	frozenUntil time.Duration
	thawing     bool      // the incarnation is not the first seen, and no answer has come since its freeze; see releaseAgain
	cursor      int       // where the rotating slice continues in holds
	releases    []pending // oldest first; the first releasing of them are in flight
	releasing   int
	lanes       [lanes]lane
	announced   time.Duration // when the next trip leaves, as the carrier was told; or noTrip, or notTold
	notices     []func()      // for claimants, delivered by the loop once the mutex is free
}

// session is the keeper's present session. Only deadline is read without the keeper's mutex.
type session struct {
	Session
	deadline atomic.Int64 // on the keeper's line; 0 until the first answer
	open     bool
	begun    time.Duration // when it was made
	revision uint64
}

// pending is a lease to let go of. hold is nil for a grant that nobody wanted.
type pending struct {
	lease Lease
	entry *entry
	hold  *Hold
}

// NewKeeper returns a keeper for the owner's leases in m. It does no I/O. Errors match ErrInvalid.
func NewKeeper(m Manager, owner instance.ID, cfg KeeperConfig) (*Keeper, error) {
	if m == nil {
		return nil, fault.Invalid("lease manager", "nil", "pass a store")
	}
	if err := owner.Check(); err != nil {
		return nil, err
	}
	timing, err := cfg.Timing.Resolve()
	if err != nil {
		return nil, err
	}
	if cfg.VerifySlice < 0 {
		return nil, fault.Invalid("VerifySlice", cfg.VerifySlice, "must not be negative; zero means 100")
	}
	if cfg.VerifySlice == 0 {
		cfg.VerifySlice = 100
	}
	c := clock.Or(cfg.Clock)
	return &Keeper{
		manager: m, owner: owner, timing: timing, slice: cfg.VerifySlice,
		clock: c, line: clock.NewLine(c), observe: splitObservers(cfg.Observers), log: cfg.Logger, hint: cfg.OnChange, carrier: cfg.Carrier,
		announced: notTold, wake: make(chan struct{}, 1), answers: make(chan answer), done: make(chan struct{}),
		entries: map[string]*entry{}, ended: map[string]uint64{}, suspect: map[*Hold]struct{}{},
	}, nil
}

// Claim registers the wish to hold a key, and contends for it from now on. ErrHeldHere: this
// keeper has a claim on the key, or a worker of an earlier one has not returned. ErrInvalid: the
// key cannot be used. ErrStopped: Run has ended.
func (k *Keeper) Claim(key string, c Claimant) (*Claim, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, fault.Invalid("claimant", "nil", "pass a Claimant")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return nil, ErrStopped
	}
	e := k.entries[key]
	if e == nil {
		e = k.newEntry(key)
	}
	if e.claim != nil || e.hold != nil && !e.hold.releasing {
		return nil, ErrHeldHere
	}
	e.claim = &Claim{keeper: k, entry: e, claimant: c}
	e.contending = true
	e.nextTry = k.line.Now()
	e.notBefore = e.nextTry // an earlier claim may have chosen a wait
	e.begin(e.nextTry)
	k.reschedule(e)
	k.poke()
	return e.claim, nil
}

// newEntry begins what is known about a key. The mutex is held.
func (k *Keeper) newEntry(key string) *entry {
	e := &entry{key: key, heapPos: -1, lastTry: -hintPause}
	k.entries[key] = e
	return e
}

// Timing returns the resolved knobs.
func (k *Keeper) Timing() Timing { return k.timing }

// State is a snapshot of a keeper for people and health checks.
type State struct {
	Session     string        // ID of the present session; empty while there is none. One that holds nothing lapses unrenewed
	Held        int           // live terms
	Left        time.Duration // until the session's local deadline without another renewal
	Incarnation uint64        // newest seen
	FrozenFor   time.Duration // how long the store still grants nothing new
	Hanging     int           // store calls that were abandoned and have not returned
}

// State returns a snapshot.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.line.Now()
	s := State{Held: len(k.holds), Incarnation: k.incarnation, FrozenFor: max(k.frozenUntil-now, 0), Hanging: k.hanging()}
	if k.session != nil {
		s.Session = k.session.ID
		s.Left = max(time.Duration(k.session.deadline.Load())-now, 0)
	}
	return s
}

func (k *Keeper) hanging() (n int) {
	for i := range k.gates {
		n += k.gates[i].Abandoned()
	}
	return n
}

// poke makes the loop look again.
func (k *Keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// reschedule puts e into the queue, moves it there, or takes it out. The mutex is held.
func (k *Keeper) reschedule(e *entry) {
	switch {
	case !e.wants() && e.heapPos >= 0:
		heap.Remove(&k.queue, e.heapPos)
	case e.wants() && e.heapPos < 0:
		heap.Push(&k.queue, e)
	case e.wants():
		heap.Fix(&k.queue, e.heapPos)
	}
	if !e.open() {
		delete(k.entries, e.key)
	}
}

func (k *Keeper) contend(c *Claim, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := c.entry
	if e.claim != c || k.stopped {
		return
	}
	e.contending = true
	e.notBefore = k.line.Now() + wait
	e.nextTry = e.notBefore
	e.begin(e.nextTry)
	k.reschedule(e)
	k.poke()
}

func (k *Keeper) pause(c *Claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := c.entry; e.claim == c {
		e.contending = false
		e.rest(k.line.Now())
		k.reschedule(e)
		k.poke()
	}
}

func (k *Keeper) closeClaim(c *Claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := c.entry
	if e.claim != c {
		return
	}
	e.contending = false
	e.claim = nil
	if e.hold != nil {
		k.letGo(e.hold)
	}
	e.rest(k.line.Now())
	k.reschedule(e)
	k.poke()
}
