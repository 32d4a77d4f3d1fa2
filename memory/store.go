package memory

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

// Config is what may be chosen; its zero value is ready to use.
type Config struct {
	// MaxTTL is the fleet's longest session TTL, and the length of a freeze: 1 ms to 24 h. Zero
	// means lease.DefaultMaxTTL (15 s).
	MaxTTL time.Duration
	// Incarnations makes the store guard its promise against lost data, as stores on servers do:
	// after Restore, and at the first lease call of a fleet that nobody provisioned, it begins a
	// new incarnation and grants nothing new for MaxTTL. False: it never freezes.
	Incarnations bool
}

// Store is a handle on one fleet in memory. It is safe for concurrent use.
type Store struct {
	*fleet
	closed chan struct{}
	once   sync.Once
}

// fleet is what the handles share: the server, so to speak, and the data that it keeps.
type fleet struct {
	cfg Config

	mu       sync.Mutex // guards all below; never held across a wait or a call of the user's code
	server   uint64     // the fingerprint of this server's life: its start in µs
	data                // what a restart may lose
	sweepAt  time.Time
	watchers map[chan lease.Change]struct{}
}

// New makes an empty fleet and returns a first handle on it. The error is a *lease.InvalidError.
func New(cfg Config) (*Store, error) {
	if cfg.MaxTTL == 0 {
		cfg.MaxTTL = lease.DefaultMaxTTL
	}
	if err := fault.CheckTTL("memory.Config.MaxTTL", cfg.MaxTTL); err != nil {
		return nil, err
	}
	f := &fleet{cfg: cfg, server: micros(time.Now()), data: data{}.clone(), watchers: map[chan lease.Change]struct{}{}}
	return f.handle(), nil
}

func (f *fleet) handle() *Store { return &Store{fleet: f, closed: make(chan struct{})} }

// Handle returns another handle on the same fleet, as a second process would open one.
// Each handle is closed on its own.
func (s *Store) Handle() *Store { return s.handle() }

// Tick implements tick.Ticker. A call of a store in memory takes no trip, so it is the calls themselves.
func (s *Store) Tick(ctx context.Context, p tick.Parts) tick.Answers { return tick.Each(ctx, s, p) }

// Close ends this handle: its calls answer lease.ErrClosed and its Watch returns. It lets go
// of no lease; those lapse, or are renewed through another handle. It always returns nil and
// may be called twice.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// do runs one call unless its arguments are invalid, its context has ended or its handle is closed.
// All of it happens at one instant, now: so a takeover and a late renewal can never both succeed.
func (s *Store) do(ctx context.Context, op string, invalid error, call func(now time.Time) error) error {
	if invalid != nil {
		return invalid
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fault.Unavailable("memory: "+op, err)
	}
	select {
	case <-s.closed:
		return fmt.Errorf("memory: %s: %w", op, lease.ErrClosed)
	default:
	}
	now := time.Now()
	s.sweep(now)
	return call(now)
}

// sweep clears away what is over, once per MaxTTL, by whoever comes by: so garbage stays bounded
// and no goroutine is needed. Nothing depends on it; members go at once instead, as their going
// changes the generation.
func (f *fleet) sweep(now time.Time) {
	if now.Before(f.sweepAt) {
		return
	}
	f.sweepAt = now.Add(f.cfg.MaxTTL)
	maps.DeleteFunc(f.statuses, func(_ string, r status.Record) bool { return !now.Before(f.lives[r.Owner]) })
	maps.DeleteFunc(f.lives, func(_ instance.ID, ends time.Time) bool { return !now.Before(ends) })
	if f.unsettled(now) {
		return // in a freeze, what a record says of the past still tells true claims from stale ones
	}
	// Sessions are remembered for MaxTTL after their end, so that a late call cannot revive them;
	// their lease records go with them, and free records at once: the token floor outlives both.
	maps.DeleteFunc(f.sessions, func(_ string, s session) bool { return !now.Before(s.expires.Add(f.cfg.MaxTTL)) })
	maps.DeleteFunc(f.leases, func(_ string, r record) bool { _, known := f.sessions[r.Session]; return !known })
}

// micros is the store's clock in µs: the unit of tokens, generations and incarnations.
func micros(now time.Time) uint64 { return uint64(max(0, now.UnixMicro())) }

// stamp is a time as the store hands it out: UTC, whole µs, no monotonic reading.
func stamp(now time.Time) time.Time { return now.UTC().Truncate(time.Microsecond) }

// checkKeys refuses a key that no store could keep; unique sorts keys and drops repeated ones.
func checkKeys(keys []string) error {
	for _, key := range keys {
		if err := lease.CheckKey(key); err != nil {
			return err
		}
	}
	return nil
}

func unique(keys iter.Seq[string]) []string { return slices.Compact(slices.Sorted(keys)) }
