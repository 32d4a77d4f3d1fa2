package resolver

import (
	"context"
	"slices"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// fleet is the membership as last read.
type fleet struct {
	members map[instance.ID]registry.Member
}

// answer is what one read of the store brought.
type answer struct {
	owners map[string]Owner // of those keys that have one
	fleet  fleet
}

// flight is one read that is under way. Everybody who needs it waits for it.
type flight struct {
	keys []string
	turn uint64
	sent time.Duration // just before the read began
	done chan struct{} // closed when the two below are set
	answer
	err error
}

// covers reports whether the read answers for the key.
func (f *flight) covers(key string, all bool) bool {
	return all || slices.Contains(f.keys, key)
}

// fly reads the store and hands the answer to those who wait. It runs on a goroutine of its own and is
// bounded by CallTimeout, so that no caller's end takes the answer from the others.
func (r *Resolver) fly(f *flight) {
	f.answer, f.err = call.Do(context.Background(), &r.gate, "resolve", r.cfg.CallTimeout, func(ctx context.Context) (answer, error) {
		return r.read(ctx, f.keys)
	})
	r.land(f)
	close(f.done)
	if f.err != nil {
		safely(func() { r.cfg.Logger.Warn("owners not read; answering from memory", "error", f.err) })
	}
}

// read asks for the owners first and for the members after that: whoever owns something had joined before.
func (r *Resolver) read(ctx context.Context, keys []string) (answer, error) {
	a := answer{owners: map[string]Owner{}, fleet: fleet{members: map[instance.ID]registry.Member{}}}
	if err := r.readOwners(ctx, keys, a.owners); err != nil {
		return a, err
	}
	view, err := r.store.Members(ctx)
	if err != nil {
		return a, err
	}
	for _, m := range view.Members {
		a.fleet.members[m.ID] = m
	}
	return a, nil
}

func (r *Resolver) readOwners(ctx context.Context, keys []string, owners map[string]Owner) error {
	if r.cfg.Leases != nil {
		leases, err := r.cfg.Leases.Leases(ctx)
		for _, l := range leases {
			owners[l.Key] = Owner{Key: l.Key, Instance: instance.Instance{ID: l.Owner}, Token: l.Token, State: status.Active}
		}
		return err
	}
	records, err := r.store.Statuses(ctx, keys)
	for _, s := range records {
		if s.State != status.Inactive {
			owners[s.Key] = Owner{Key: s.Key, Instance: instance.Instance{ID: s.Owner}, Token: s.Token, State: s.State}
		}
	}
	return err
}

func safely(f func()) {
	defer func() { _ = recover() }() // a log handler's panic is no reason to stop answering
	f()
}
