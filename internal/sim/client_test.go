package sim

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// client is the store as one engine of a process sees it: through the network, under the eyes of a model that
// knows for how long what it hears may be trusted.
type client struct {
	p     *process
	model *holder
	dice  dice

	mu    sync.Mutex
	calls map[string]int
}

var _ interface {
	coordinator.Store
	lease.Watcher
} = (*client)(nil)

func newClient(p *process, name string) *client {
	return &client{p: p, model: newHolder(p), dice: p.dice.of(name), calls: map[string]int{}}
}

// next returns the dice of the next call of a kind.
func (c *client) next(op string) dice {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[op]++
	return c.dice.of(op).nth(c.calls[op])
}

// OpenSession implements lease.Manager.
func (c *client) OpenSession(ctx context.Context, s lease.Session) (lease.Incarnation, error) {
	sent := c.model.sends(ctx, "OpenSession", s)
	in, err := call(ctx, c, onLease, "OpenSession", func(ctx context.Context) (lease.Incarnation, error) {
		return c.p.w.server.open(ctx, s)
	})
	c.model.opened(s, sent, in, err)
	return in, err
}

// Acquire implements lease.Manager.
func (c *client) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	c.model.sends(ctx, "Acquire", s)
	c.p.w.checkAcquire(c.p, keys)
	g, err := call(ctx, c, onLease, "Acquire", func(ctx context.Context) (lease.Grant, error) {
		return c.p.w.server.acquire(ctx, s, keys)
	})
	c.model.acquired(s, g, err)
	return g, err
}

// Renew implements lease.Manager.
func (c *client) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	sent := c.model.sends(ctx, "Renew", s)
	r, err := call(ctx, c, onLease, "Renew", func(ctx context.Context) (lease.Renewal, error) {
		return c.p.w.server.renew(ctx, s)
	})
	c.model.renewed(s, sent, r, err)
	return r, err
}

// Verify implements lease.Manager.
func (c *client) Verify(ctx context.Context, s lease.Session, leases []lease.Lease) (lease.Verification, error) {
	leases = slices.Clone(leases)
	c.model.sends(ctx, "Verify", s)
	v, err := call(ctx, c, onLease, "Verify", func(ctx context.Context) (lease.Verification, error) {
		return c.p.w.server.verify(ctx, s, leases)
	})
	c.model.verified(s, leases, v, err)
	return v, err
}

// Release implements lease.Manager.
func (c *client) Release(ctx context.Context, s lease.Session, leases []lease.Lease) error {
	leases = slices.Clone(leases)
	c.model.sends(ctx, "Release", s)
	for _, l := range leases {
		c.p.w.checkRelease(c.p, func(o lease.Lease) bool { return o.Key == l.Key && o.Token == l.Token })
	}
	return act(ctx, c, onLease, "Release", func(ctx context.Context) error { return c.p.w.server.release(ctx, s, leases) })
}

// CloseSession implements lease.Manager.
func (c *client) CloseSession(ctx context.Context, s lease.Session) error {
	c.model.sends(ctx, "CloseSession", s)
	c.p.w.checkRelease(c.p, func(o lease.Lease) bool { return o.Session == s.ID })
	return act(ctx, c, onLease, "CloseSession", func(ctx context.Context) error { return c.p.w.server.closeSession(ctx, s) })
}

// Watch implements lease.Watcher.
func (c *client) Watch(ctx context.Context, f func(lease.Change)) error {
	return c.p.link.watch(ctx, c, f, c.p.w.server.store.Watch)
}

var _ interface {
	lease.Lister
	assigner.Targets
} = lister{}

// lister is a client that lists leases and carries plans as well.
type lister struct{ *client }

// Leases implements lease.Lister.
func (c lister) Leases(ctx context.Context) ([]lease.Lease, error) {
	c.p.w.checkBound(ctx, c.p, "Leases")
	return call(ctx, c.client, onLease, "Leases", c.p.w.server.store.Leases)
}

// PutTargets implements assigner.Targets.
func (c lister) PutTargets(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
	c.p.w.checkBound(ctx, c.p, "PutTargets")
	return act(ctx, c.client, onTargets, "PutTargets", func(ctx context.Context) error {
		return c.p.w.server.store.PutTargets(ctx, head, sets, gone)
	})
}

// TargetsOf implements assigner.Targets.
func (c lister) TargetsOf(ctx context.Context, id instance.ID) (assigner.Head, assigner.Set, error) {
	type mine struct {
		head assigner.Head
		set  assigner.Set
	}
	c.p.w.checkBound(ctx, c.p, "TargetsOf")
	got, err := call(ctx, c.client, onTargets, "TargetsOf", func(ctx context.Context) (mine, error) {
		head, set, err := c.p.w.server.store.TargetsOf(ctx, id)
		return mine{head, set}, err
	})
	return got.head, got.set, err
}

// AllTargets implements assigner.Targets.
func (c lister) AllTargets(ctx context.Context) (assigner.Head, []assigner.Set, error) {
	type all struct {
		head assigner.Head
		sets []assigner.Set
	}
	c.p.w.checkBound(ctx, c.p, "AllTargets")
	got, err := call(ctx, c.client, onTargets, "AllTargets", func(ctx context.Context) (all, error) {
		head, sets, err := c.p.w.server.store.AllTargets(ctx)
		return all{head, sets}, err
	})
	return got.head, got.sets, err
}

// Heartbeat implements registry.Registry.
func (c *client) Heartbeat(ctx context.Context, self registry.Self, life time.Duration, known registry.Generation) (registry.View, error) {
	c.p.w.checkBound(ctx, c.p, "Heartbeat")
	c.p.w.checkMark(c.p, self.Draining, "a heartbeat says so")
	v, err := call(ctx, c, onRegistry, "Heartbeat", func(in context.Context) (registry.View, error) {
		c.p.arrives(ctx)
		return c.p.w.server.store.Heartbeat(in, self, life, known)
	})
	if err == nil {
		v = c.distorted(self, v)
	}
	return v, err
}

// distorted is the view that a heartbeat is answered with.
func (c *client) distorted(self registry.Self, v registry.View) registry.View {
	if f := c.p.link.fault(onRegistry); f != nil && f.do == lie {
		v.Unchanged = false
		v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m registry.Member) bool { return m.ID == self.Instance.ID })
		if c.next("lie").chance(.5) {
			v.Members = nil
		}
		v.Generation++ // of no state that there was
	}
	return v
}

// Members implements registry.Registry.
func (c *client) Members(ctx context.Context) (registry.View, error) {
	c.p.w.checkBound(ctx, c.p, "Members")
	return call(ctx, c, onRegistry, "Members", c.p.w.server.store.Members)
}

// BeginDrain implements registry.Registry.
func (c *client) BeginDrain(ctx context.Context, id instance.ID) error {
	c.p.w.checkBound(ctx, c.p, "BeginDrain")
	c.p.w.checkMark(c.p, true, "it calls BeginDrain")
	return act(ctx, c, onRegistry, "BeginDrain", func(ctx context.Context) error { return c.p.w.server.store.BeginDrain(ctx, id) })
}

// Leave implements registry.Registry.
func (c *client) Leave(ctx context.Context, id instance.ID) error {
	c.p.w.checkBound(ctx, c.p, "Leave")
	return act(ctx, c, onRegistry, "Leave", func(ctx context.Context) error {
		c.p.mu.Lock()
		c.p.left = true
		c.p.mu.Unlock()
		return c.p.w.server.store.Leave(ctx, id)
	})
}

// PutStatus implements status.Store.
func (c *client) PutStatus(ctx context.Context, owner instance.ID, life time.Duration, records []status.Record) error {
	c.p.w.checkBound(ctx, c.p, "PutStatus")
	records = slices.Clone(records)
	return act(ctx, c, onStatus, "PutStatus", func(ctx context.Context) error {
		return c.p.w.server.store.PutStatus(ctx, owner, life, records)
	})
}

// Statuses implements status.Store.
func (c *client) Statuses(ctx context.Context, keys []string) ([]status.Record, error) {
	c.p.w.checkBound(ctx, c.p, "Statuses")
	return call(ctx, c, onStatus, "Statuses", func(ctx context.Context) ([]status.Record, error) {
		return c.p.w.server.store.Statuses(ctx, keys)
	})
}

// AllStatuses implements status.Store.
func (c *client) AllStatuses(ctx context.Context) ([]status.Record, error) {
	c.p.w.checkBound(ctx, c.p, "AllStatuses")
	return call(ctx, c, onStatus, "AllStatuses", c.p.w.server.store.AllStatuses)
}

func act(ctx context.Context, c *client, contract, op string, do func(context.Context) error) error {
	_, err := call(ctx, c, contract, op, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	return err
}
