package resolver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// Store is what a resolver reads: tenure.Store and coordinator.Separate are such stores.
type Store interface {
	registry.Registry
	status.Store
}

// Resolver (tenure.Resolver) finds the owners of workloads. Make one per process with New; it is safe for
// concurrent use, works without Run, and starts no goroutine but bounded reads of the store.
type Resolver struct {
	store Store
	cfg   Config
	line  clock.Line
	gate  call.Gate

	mu      sync.Mutex // never held across I/O
	entries map[string]*entry
	fleet   fleet
	flight  *flight       // the read under way, nil where there is none
	turn    uint64        // orders questions, reads and hints, where a clock might not tell them apart
	stale   uint64        // what was asked before this turn is stale
	retryAt time.Duration // after a failed read: until then, memory is good enough
}

// entry is what is known of one key.
type entry struct {
	key     string
	owner   Owner         // its Key is empty where there was none
	asked   uint64        // the turn of the read that brought it; 0: none did yet
	sent    time.Duration // when that read began
	stale   uint64        // what was asked before this turn is stale
	wanted  bool          // since it was read
	touched time.Duration // when it was wanted last
}

// mostEntries bounds what strangers' keys can make a resolver remember.
const mostEntries = 100_000

// New returns a resolver that reads the store. It does no I/O. Errors match ErrInvalid and name the field.
func New(store Store, cfg Config) (*Resolver, error) {
	if store == nil {
		return nil, fault.Invalid("store", "nil", "pass a store that is a registry.Registry and a status.Store")
	}
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	if cfg.Hints == nil {
		cfg.Hints, _ = store.(lease.Watcher)
	}
	return &Resolver{store: store, cfg: cfg, line: clock.NewLine(cfg.Clock), entries: map[string]*entry{}}, nil
}

// Resolve returns the owner of a key. It answers from memory where what is there is fresh enough (see the
// package documentation), and otherwise waits for one read of the store.
//
// Errors match ErrInvalid, ErrUnknown, ErrNoOwner, ErrNoAddress (the Owner is filled but for its address),
// ErrUnavailable, or the cause of a ctx that ended.
func (r *Resolver) Resolve(ctx context.Context, key string) (Owner, error) {
	if err := lease.CheckKey(key); err != nil {
		return Owner{}, err
	}
	if r.cfg.Known != nil && !r.cfg.Known(key) {
		return Owner{}, fmt.Errorf("%q: %w", key, ErrUnknown)
	}
	began := r.next()
	for {
		if ctx.Err() != nil {
			return Owner{}, fault.Unavailable("resolve", context.Cause(ctx))
		}
		o, f, err := r.look(key, began)
		if f == nil {
			return o, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return Owner{}, fault.Unavailable("resolve", context.Cause(ctx))
		}
		if f.err != nil && f.covers(key, r.cfg.Leases != nil) {
			return r.fallback(key, f.err)
		}
	}
}

// Await is Resolve for those who would rather wait than be refused: it asks again, Config.Retry apart, while
// the key has no owner or its owner no address, and while the store does not answer, until ctx ends. The error then is the last
// one and the cause of ctx. ErrInvalid and ErrUnknown are answered at once.
func (r *Resolver) Await(ctx context.Context, key string) (Owner, error) {
	for {
		o, err := r.Resolve(ctx, key)
		if err == nil || !waits(err) {
			return o, err
		}
		t := r.cfg.Clock.NewTimer(r.cfg.Retry)
		select {
		case <-t.C():
		case <-ctx.Done():
			t.Stop()
			return o, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// Stale says that an owner did not answer, or answered that it does not hold the key: the next Resolve of it
// asks the store. An owner that is not the newest known one changes nothing.
func (r *Resolver) Stale(o Owner) {
	turn := r.next()
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[o.Key]; e != nil && e.owner.Token == o.Token && e.owner.Instance.ID == o.Instance.ID {
		e.stale = turn
	}
}

// next begins a turn.
func (r *Resolver) next() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	return r.turn
}

// look answers from memory, or returns the read to wait for.
func (r *Resolver) look(key string, began uint64) (Owner, *flight, error) {
	now := r.line.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[key]
	if e == nil {
		r.makeRoom()
		e = &entry{key: key}
		r.entries[key] = e
	}
	e.wanted, e.touched = true, now
	if r.fresh(e, now, began) {
		o, err := r.answer(e, now)
		return o, nil, err
	}
	if r.flight == nil {
		r.turn++
		r.flight = &flight{keys: r.wanted(key), turn: r.turn, sent: now, done: make(chan struct{})}
		go r.fly(r.flight)
	}
	return Owner{}, r.flight, nil
}

// fresh reports whether an entry may be answered at now to somebody who began to ask in the turn began. The
// mutex is held.
func (r *Resolver) fresh(e *entry, now time.Duration, began uint64) bool {
	age := now - e.sent
	switch {
	case e.asked == 0:
		return false
	case e.asked > began:
		return true // asked on behalf of this very call: nothing can be newer
	case now < r.retryAt && age <= r.cfg.MaxStale:
		return true
	case e.asked < max(e.stale, r.stale):
		return false
	}
	if _, err := r.answer(e, now); err != nil {
		return age <= r.cfg.Retry
	}
	return age <= r.cfg.MaxAge
}

// answer is what memory says of a key. The mutex is held.
func (r *Resolver) answer(e *entry, now time.Duration) (Owner, error) {
	o := e.owner
	o.Age = now - e.sent
	if o.Key == "" {
		return Owner{Key: e.key, Age: o.Age}, fmt.Errorf("%q: %w", e.key, ErrNoOwner)
	}
	return o.addressed(r.fleet)
}

// fallback answers from memory after a failed read, where that is not too old.
func (r *Resolver) fallback(key string, failed error) (Owner, error) {
	now := r.line.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[key]; e != nil && e.asked != 0 && now-e.sent <= r.cfg.MaxStale {
		return r.answer(e, now)
	}
	return Owner{}, failed
}
