package lease_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// wire stands between a keeper and its store: hook decides what becomes of each call.
type wire struct {
	lease.Manager
	mu    sync.Mutex
	hook  func(ctx context.Context, op string, do func() error) error
	calls map[string]int
}

func newWire(m lease.Manager) *wire { return &wire{Manager: m, calls: map[string]int{}} }

func (w *wire) set(hook func(ctx context.Context, op string, do func() error) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = hook
}

func (w *wire) count(op string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[op]
}

func (w *wire) via(ctx context.Context, op string, do func() error) error {
	w.mu.Lock()
	w.calls[op]++
	hook := w.hook
	w.mu.Unlock()
	if hook == nil {
		return do()
	}
	return hook(ctx, op, do)
}

func (w *wire) OpenSession(ctx context.Context, s lease.Session) (in lease.Incarnation, err error) {
	err = w.via(ctx, "OpenSession", func() (e error) { in, e = w.Manager.OpenSession(ctx, s); return e })
	return in, err
}

func (w *wire) Acquire(ctx context.Context, s lease.Session, keys []string) (g lease.Grant, err error) {
	err = w.via(ctx, "Acquire", func() (e error) { g, e = w.Manager.Acquire(ctx, s, keys); return e })
	return g, err
}

func (w *wire) Renew(ctx context.Context, s lease.Session) (r lease.Renewal, err error) {
	err = w.via(ctx, "Renew", func() (e error) { r, e = w.Manager.Renew(ctx, s); return e })
	return r, err
}

func (w *wire) Verify(ctx context.Context, s lease.Session, l []lease.Lease) (v lease.Verification, err error) {
	err = w.via(ctx, "Verify", func() (e error) { v, e = w.Manager.Verify(ctx, s, l); return e })
	return v, err
}

func (w *wire) Release(ctx context.Context, s lease.Session, l []lease.Lease) error {
	return w.via(ctx, "Release", func() error { return w.Manager.Release(ctx, s, l) })
}

func (w *wire) CloseSession(ctx context.Context, s lease.Session) error {
	return w.via(ctx, "CloseSession", func() error { return w.Manager.CloseSession(ctx, s) })
}

// hang blocks for ever, whatever the context says; release it by closing the channel.
func hang(until chan struct{}, ops ...string) func(context.Context, string, func() error) error {
	return func(_ context.Context, op string, do func() error) error {
		if len(ops) == 0 || slices.Contains(ops, op) {
			<-until
		}
		return do()
	}
}

// user is a claimant that remembers what it was told. It lets go of what it lost at once, unless
// it is told to be slow.
type user struct {
	mu       sync.Mutex
	claim    *lease.Claim
	holds    []*lease.Hold
	lost     []*lease.LostError
	lostAt   []time.Time
	refused  []lease.Refusal
	released int
	keep     bool // do not release what was lost
	again    bool // contend again after each release
}

func (u *user) Granted(h *lease.Hold) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.holds = append(u.holds, h)
}

func (u *user) Refused(r lease.Refusal) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refused = append(u.refused, r)
}

func (u *user) Lost(h *lease.Hold, why *lease.LostError) {
	u.mu.Lock()
	u.lost = append(u.lost, why)
	u.lostAt = append(u.lostAt, time.Now())
	keep := u.keep
	u.mu.Unlock()
	if !keep {
		h.Release()
	}
}

func (u *user) Released(*lease.Hold) {
	u.mu.Lock()
	u.released++
	again, c := u.again, u.claim
	u.mu.Unlock()
	if again {
		c.Contend()
	}
}

func (u *user) hold() *lease.Hold {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.holds) == 0 {
		return nil
	}
	return u.holds[len(u.holds)-1]
}

func (u *user) losses() []*lease.LostError {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.lost)
}

// rig is one keeper running in a bubble.
type rig struct {
	t      *testing.T
	keeper *lease.Keeper
	stop   context.CancelFunc
	done   chan error
}

func start(t *testing.T, m lease.Manager, cfg lease.KeeperConfig) *rig {
	t.Helper()
	if cfg.Timing.Jitter == 0 {
		cfg.Timing.Jitter = -1
	}
	k, err := lease.NewKeeper(m, instance.New(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &rig{t: t, keeper: k, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- k.Run(ctx) }()
	return r
}

func (r *rig) end() {
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Errorf("Run: %v", err)
	}
}

func (r *rig) claim(key string, u *user) *user {
	r.t.Helper()
	c, err := r.keeper.Claim(key, u)
	if err != nil {
		r.t.Fatalf("Claim(%q): %v", key, err)
	}
	u.mu.Lock()
	u.claim = c
	u.mu.Unlock()
	return u
}

// bubble runs f in virtual time on a fresh memory store.
func bubble(t *testing.T, f func(t *testing.T, s *memory.Store)) {
	t.Helper()
	bubbleWith(t, memory.Config{}, f)
}

func bubbleWith(t *testing.T, cfg memory.Config, f func(t *testing.T, s *memory.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := memory.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		f(t, s)
		after(time.Minute) // calls that were left behind come back
	})
}

func after(d time.Duration) {
	time.Sleep(d) // virtual: only called inside a bubble
	synctest.Wait()
}
