package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

// holding is an instance that holds n leases under one session, with the calls that its keeper and its
// coordinator make.
type holding struct {
	store  coordinator.Store
	sess   lease.Session
	self   registry.Self
	known  registry.Generation
	leases []lease.Lease
	cursor int
}

func keyOf(i int) string { return fmt.Sprintf("workload-%06d", i) }

func keysOf(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = keyOf(i)
	}
	return keys
}

// hold has a new instance take the n keys that begin with prefix.
func hold(ctx context.Context, s coordinator.Store, prefix string, n int) (*holding, error) {
	id := instance.New()
	h := &holding{store: s, sess: lease.NewSession(id, maxTTL), self: registry.Self{Instance: instance.Instance{ID: id}}}
	if _, err := s.OpenSession(ctx, h.sess); err != nil {
		return nil, err
	}
	records := make([]status.Record, 0, n)
	for from := 0; from < n; from += 1000 {
		keys := make([]string, 0, 1000)
		for i := from; i < min(from+1000, n); i++ {
			keys = append(keys, prefix+keyOf(i))
		}
		g, err := s.Acquire(ctx, h.sess, keys)
		if err != nil {
			return nil, err
		}
		if len(g.Leases) != len(keys) {
			return nil, fmt.Errorf("granted %d of %d keys", len(g.Leases), len(keys))
		}
		h.leases = append(h.leases, g.Leases...)
		if _, err := s.Renew(ctx, h.sess); err != nil {
			return nil, err
		}
	}
	for _, l := range h.leases {
		records = append(records, status.Record{Key: l.Key, State: status.Active, Owner: id, Token: l.Token})
	}
	for from := 0; from < n; from += 1000 {
		if err := s.PutStatus(ctx, id, maxTTL, records[from:min(from+1000, n)]); err != nil {
			return nil, err
		}
		if _, err := s.Renew(ctx, h.sess); err != nil {
			return nil, err
		}
	}
	return h, h.heartbeat(ctx)
}

func (h *holding) renew(ctx context.Context) error {
	_, err := h.store.Renew(ctx, h.sess)
	return err
}

// slice is how many leases a keeper verifies each interval.
const slice = 100

// next returns the next leases of the rotation.
func (h *holding) next() []lease.Lease {
	part := make([]lease.Lease, 0, slice)
	for range min(slice, len(h.leases)) {
		part = append(part, h.leases[h.cursor])
		h.cursor = (h.cursor + 1) % len(h.leases)
	}
	return part
}

// verify proves the next leases of the rotation.
func (h *holding) verify(ctx context.Context) error {
	return proven(h.store.Verify(ctx, h.sess, h.next()))
}

func proven(v lease.Verification, err error) error {
	if err == nil && len(v.Lost) > 0 {
		err = fmt.Errorf("%d leases are lost", len(v.Lost))
	}
	return err
}

func (h *holding) heartbeat(ctx context.Context) error {
	return h.beaten(h.store.Heartbeat(ctx, h.self, maxTTL, h.known))
}

func (h *holding) beaten(v registry.View, err error) error {
	if err == nil {
		h.known = v.Generation
		h.self.JoinedAt = v.Self.JoinedAt
	}
	return err
}

// tick is all that an instance asks of its store per interval while nothing changes: in one trip where the store can.
func (h *holding) tick(ctx context.Context) error {
	t, ok := h.store.(tick.Ticker)
	if !ok {
		return h.apart(ctx)
	}
	a := t.Tick(ctx, tick.Parts{
		Renew: &tick.Renew{Session: h.sess}, Verify: &tick.Verify{Session: h.sess, Leases: h.next()},
		Heartbeat: &tick.Heartbeat{Self: h.self, TTL: maxTTL, Known: h.known},
		PutStatus: &tick.PutStatus{Owner: h.self.Instance.ID, TTL: maxTTL},
	})
	return errors.Join(a.Renew.Err, proven(a.Verify.Value, a.Verify.Err), h.beaten(a.Heartbeat.Value, a.Heartbeat.Err), a.PutStatus)
}

// apart is the same in calls.
func (h *holding) apart(ctx context.Context) error {
	if err := h.renew(ctx); err != nil {
		return err
	}
	if err := h.verify(ctx); err != nil {
		return err
	}
	if err := h.heartbeat(ctx); err != nil {
		return err
	}
	return h.store.PutStatus(ctx, h.self.Instance.ID, maxTTL, nil)
}

// alive renews in the background of a preparation that takes longer than a session lives.
func alive(ctx context.Context, all ...*holding) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(maxTTL / 5)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				for _, h := range all {
					_ = h.renew(ctx) // one that was lost shows in the measurement
				}
			}
		}
	}()
	return func() { cancel(); <-done }
}
