package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// faulty is one instance's way to the store: it counts the calls, and can fail or hang them.
type faulty struct {
	store *memory.Store
	mu    sync.Mutex
	calls map[string]int
	sizes map[string]int                    // biggest argument or answer per operation
	fail  func(op string) error             // an error for this operation
	stall func(op string) bool              // this operation hangs, and ignores its context
	delay func(op string) time.Duration     // before the store is called
	late  func(op string) time.Duration     // after it
	view  func(registry.View) registry.View // what a heartbeat answers instead
	final string                            // the newest call
	open  chan struct{}                     // closed when the stalled ones may go on
	deaf  bool                              // no hints
}

func newFaulty(s *memory.Store) *faulty {
	return &faulty{store: s, calls: map[string]int{}, sizes: map[string]int{}, open: make(chan struct{})}
}

var errBroken = fmt.Errorf("test: broken: %w", lease.ErrUnavailable)

// cut hangs every call for ever.
func (f *faulty) cut() { f.set(func() { f.stall = func(string) bool { return true } }) }

// heal undoes everything and lets the stalled calls go on, late.
func (f *faulty) heal() {
	f.set(func() {
		f.stall, f.fail, f.delay, f.late = nil, nil, nil, nil
		close(f.open)
		f.open = make(chan struct{})
	})
}

func (f *faulty) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// counts returns the calls since the last look.
func (f *faulty) counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := maps.Clone(f.calls)
	clear(f.calls)
	return c
}

// biggest returns the sizes since the last look.
func (f *faulty) biggest() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := maps.Clone(f.sizes)
	clear(f.sizes)
	return s
}

// last returns the newest call.
func (f *faulty) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.final
}

func (f *faulty) before(ctx context.Context, op string, size int) error {
	f.mu.Lock()
	f.calls[op]++
	f.final = op
	f.sizes[op] = max(f.sizes[op], size)
	fail, stall, delay, open := f.fail, f.stall, f.delay, f.open
	f.mu.Unlock()
	if err := pause(ctx, op, delay); err != nil {
		return err
	}
	if stall != nil && stall(op) {
		<-open
	}
	if fail != nil {
		return fail(op)
	}
	return nil
}

func through[T any](ctx context.Context, f *faulty, op string, size int, call func() (T, error)) (T, error) {
	if err := f.before(ctx, op, size); err != nil {
		var zero T
		return zero, err
	}
	v, err := call()
	f.mu.Lock()
	late := f.late
	f.mu.Unlock()
	if e := pause(ctx, op, late); e != nil {
		return v, e
	}
	return v, err
}

// pause takes the time that d says.
func pause(ctx context.Context, op string, d func(op string) time.Duration) error {
	if d == nil || d(op) <= 0 {
		return nil
	}
	t := time.NewTimer(d(op))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errors.Join(lease.ErrUnavailable, ctx.Err())
	}
}

func (f *faulty) OpenSession(ctx context.Context, s lease.Session) (lease.Incarnation, error) {
	return through(ctx, f, "OpenSession", 0, func() (lease.Incarnation, error) { return f.store.OpenSession(ctx, s) })
}

func (f *faulty) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	return through(ctx, f, "Acquire", len(keys), func() (lease.Grant, error) { return f.store.Acquire(ctx, s, keys) })
}

func (f *faulty) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	return through(ctx, f, "Renew", 0, func() (lease.Renewal, error) { return f.store.Renew(ctx, s) })
}

func (f *faulty) Verify(ctx context.Context, s lease.Session, l []lease.Lease) (lease.Verification, error) {
	return through(ctx, f, "Verify", len(l), func() (lease.Verification, error) { return f.store.Verify(ctx, s, l) })
}

func (f *faulty) Release(ctx context.Context, s lease.Session, l []lease.Lease) error {
	_, err := through(ctx, f, "Release", len(l), func() (int, error) { return 0, f.store.Release(ctx, s, l) })
	return err
}

func (f *faulty) CloseSession(ctx context.Context, s lease.Session) error {
	_, err := through(ctx, f, "CloseSession", 0, func() (int, error) { return 0, f.store.CloseSession(ctx, s) })
	return err
}

func (f *faulty) Leases(ctx context.Context) ([]lease.Lease, error) {
	return through(ctx, f, "Leases", 0, func() ([]lease.Lease, error) { return f.store.Leases(ctx) })
}

func (f *faulty) PutTargets(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
	_, err := through(ctx, f, "PutTargets", len(sets), func() (int, error) { return 0, f.store.PutTargets(ctx, head, sets, gone) })
	return err
}

func (f *faulty) TargetsOf(ctx context.Context, id instance.ID) (head assigner.Head, set assigner.Set, err error) {
	_, err = through(ctx, f, "TargetsOf", 0, func() (int, error) {
		var err error
		head, set, err = f.store.TargetsOf(ctx, id)
		return 0, err
	})
	return head, set, err
}

func (f *faulty) AllTargets(ctx context.Context) (head assigner.Head, sets []assigner.Set, err error) {
	_, err = through(ctx, f, "AllTargets", 0, func() (int, error) {
		var err error
		head, sets, err = f.store.AllTargets(ctx)
		return 0, err
	})
	return head, sets, err
}

func (f *faulty) Watch(ctx context.Context, hear func(lease.Change)) error {
	if f.deaf {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.store.Watch(ctx, hear)
}

func (f *faulty) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (registry.View, error) {
	return through(ctx, f, "Heartbeat", 0, func() (registry.View, error) {
		v, err := f.store.Heartbeat(ctx, self, ttl, known)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sizes["members"] = len(v.Members)
		if f.view != nil {
			v = f.view(v)
		}
		return v, err
	})
}

func (f *faulty) Members(ctx context.Context) (registry.View, error) {
	return through(ctx, f, "Members", 0, func() (registry.View, error) { return f.store.Members(ctx) })
}

func (f *faulty) BeginDrain(ctx context.Context, id instance.ID) error {
	_, err := through(ctx, f, "BeginDrain", 0, func() (int, error) { return 0, f.store.BeginDrain(ctx, id) })
	return err
}

func (f *faulty) Leave(ctx context.Context, id instance.ID) error {
	_, err := through(ctx, f, "Leave", 0, func() (int, error) { return 0, f.store.Leave(ctx, id) })
	return err
}

func (f *faulty) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, r []status.Record) error {
	_, err := through(ctx, f, "PutStatus", len(r), func() (int, error) { return 0, f.store.PutStatus(ctx, owner, ttl, r) })
	return err
}

func (f *faulty) Statuses(ctx context.Context, keys []string) ([]status.Record, error) {
	return through(ctx, f, "Statuses", len(keys), func() ([]status.Record, error) { return f.store.Statuses(ctx, keys) })
}

func (f *faulty) AllStatuses(ctx context.Context) ([]status.Record, error) {
	return through(ctx, f, "AllStatuses", 0, func() ([]status.Record, error) { return f.store.AllStatuses(ctx) })
}
