package tenuretest

import (
	"context"
	"testing"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// Faulty puts faults between one process and its store. Give the store that it returns to the code
// under test, and inject faults by the other. Without any, the store behaves as the wrapped one, and
// has the same optional capabilities: lists, hints, revocation, provisioning. A coordinator.Separate stays one, and
// each of its parts has faults.
//
// A fleet of several processes needs one Faulty for each; the wrapped store may be shared. When
// the test ends, every fault is lifted, and what hangs by then is not carried out.
func Faulty(t testing.TB, store coordinator.Store) (coordinator.Store, *Faults) {
	t.Helper()
	if s, ok := store.(*coordinator.Separate); store == nil || ok && s == nil {
		t.Fatalf("Faulty: the store is nil")
	}
	way, f := faulty(t, store)
	t.Cleanup(f.end)
	return way, f
}

// faulty is Faulty for those who end the faults themselves.
func faulty(t testing.TB, store coordinator.Store) (coordinator.Store, *Faults) {
	f := &Faults{t: t, calls: map[Op]int{}, streams: map[*stream]struct{}{}}
	if s, ok := store.(*coordinator.Separate); ok {
		store = *s
	}
	if s, ok := store.(coordinator.Separate); ok {
		f.memory, _ = s.Manager.(*memory.Store)
		return wrapParts(f, s), f
	}
	f.memory, _ = store.(*memory.Store)
	return wrapAll(contracts{manager{f, store}, members{f, store}, statuses{f, store}}, store), f
}

// manager is a lease.Manager with faults.
type manager struct {
	faults *Faults
	store  lease.Manager
}

func (m manager) OpenSession(ctx context.Context, s lease.Session) (lease.Incarnation, error) {
	return through(ctx, m.faults, AllLeaseOps, OpOpenSession, func(ctx context.Context) (lease.Incarnation, error) {
		return m.store.OpenSession(ctx, s)
	})
}

func (m manager) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	return through(ctx, m.faults, AllLeaseOps, OpAcquire, func(ctx context.Context) (lease.Grant, error) {
		return m.store.Acquire(ctx, s, keys)
	})
}

func (m manager) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	return through(ctx, m.faults, AllLeaseOps, OpRenew, func(ctx context.Context) (lease.Renewal, error) {
		return m.store.Renew(ctx, s)
	})
}

func (m manager) Verify(ctx context.Context, s lease.Session, leases []lease.Lease) (lease.Verification, error) {
	return through(ctx, m.faults, AllLeaseOps, OpVerify, func(ctx context.Context) (lease.Verification, error) {
		return m.store.Verify(ctx, s, leases)
	})
}

func (m manager) Release(ctx context.Context, s lease.Session, leases []lease.Lease) error {
	return act(ctx, m.faults, AllLeaseOps, OpRelease, func(ctx context.Context) error {
		return m.store.Release(ctx, s, leases)
	})
}

func (m manager) CloseSession(ctx context.Context, s lease.Session) error {
	return act(ctx, m.faults, AllLeaseOps, OpCloseSession, func(ctx context.Context) error {
		return m.store.CloseSession(ctx, s)
	})
}

// members is a registry.Registry with faults.
type members struct {
	faults *Faults
	store  registry.Registry
}

func (m members) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (registry.View, error) {
	return through(ctx, m.faults, AllRegistryOps, OpHeartbeat, func(ctx context.Context) (registry.View, error) {
		return m.store.Heartbeat(ctx, self, ttl, known)
	})
}

func (m members) Members(ctx context.Context) (registry.View, error) {
	return through(ctx, m.faults, AllRegistryOps, OpMembers, m.store.Members)
}

func (m members) BeginDrain(ctx context.Context, id instance.ID) error {
	return act(ctx, m.faults, AllRegistryOps, OpBeginDrain, func(ctx context.Context) error {
		return m.store.BeginDrain(ctx, id)
	})
}

func (m members) Leave(ctx context.Context, id instance.ID) error {
	return act(ctx, m.faults, AllRegistryOps, OpLeave, func(ctx context.Context) error {
		return m.store.Leave(ctx, id)
	})
}

// statuses is a status.Store with faults.
type statuses struct {
	faults *Faults
	store  status.Store
}

func (s statuses) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	return act(ctx, s.faults, AllStatusOps, OpPutStatus, func(ctx context.Context) error {
		return s.store.PutStatus(ctx, owner, ttl, records)
	})
}

func (s statuses) Statuses(ctx context.Context, keys []string) ([]status.Record, error) {
	return through(ctx, s.faults, AllStatusOps, OpStatuses, func(ctx context.Context) ([]status.Record, error) {
		return s.store.Statuses(ctx, keys)
	})
}

func (s statuses) AllStatuses(ctx context.Context) ([]status.Record, error) {
	return through(ctx, s.faults, AllStatusOps, OpAllStatuses, s.store.AllStatuses)
}

// act is through for a method that answers nothing but an error.
func act(ctx context.Context, f *Faults, contract, op Op, call func(context.Context) error) error {
	_, err := through(ctx, f, contract, op, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, call(ctx)
	})
	return err
}
