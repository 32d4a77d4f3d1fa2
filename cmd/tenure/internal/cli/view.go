package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// view is a fleet at one moment, put together from what its store knows.
type view struct {
	Fleet     string     `json:"fleet"`
	Store     string     `json:"store"`
	At        time.Time  `json:"at"`
	Instances []member   `json:"instances"`
	Workloads []workload `json:"workloads"`
}

// member is one live instance.
type member struct {
	ID             string            `json:"id"`
	State          string            `json:"state"` // active, draining or leaving
	Zone           string            `json:"zone,omitempty"`
	Version        string            `json:"version,omitempty"`
	Address        string            `json:"address,omitempty"`
	Capacity       int               `json:"capacity,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Workloads      int               `json:"workloads"`
	JoinedAt       time.Time         `json:"joinedAt"`
	TTLLeftSeconds float64           `json:"ttlLeftSeconds"`
}

// workload is one key that is held, or that has a status.
type workload struct {
	Key  string `json:"key"`
	Name string `json:"name,omitempty"`
	// State is what its owner published. Without that it is "held"; "unowned" is a status without a lease.
	State string `json:"state"`
	Owner string `json:"owner,omitempty"`
	Token uint64 `json:"token"`
	// Since is when the state began, or the lease was granted.
	Since time.Time `json:"since,omitzero"`
	// TTLLeftSeconds is how long the owner's records still live unless they are extended; 0 where it is not known.
	TTLLeftSeconds float64 `json:"ttlLeftSeconds,omitempty"`
	Info           string  `json:"info,omitempty"`
	Address        string  `json:"address,omitempty"`
	Held           bool    `json:"held"`
}

const unowned = "unowned"

// look reads the fleet. The three reads are not one step, so a workload that moves meanwhile may be shown with its old
// owner.
func look(ctx context.Context, s stores.Handle, fleet string) (view, error) {
	var members registry.View
	var leases []lease.Lease
	var records []status.Record
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { members, err = s.Members(ctx); return err })
	g.Go(func() (err error) { leases, err = s.Leases(ctx); return err })
	g.Go(func() (err error) { records, err = s.AllStatuses(ctx); return err })
	if err := g.Wait(); err != nil {
		return view{}, err
	}
	v := view{Fleet: fleet, Store: s.Where(), At: time.Now(), Instances: []member{}, Workloads: []workload{}}
	known := map[string]registry.Member{}
	for _, m := range members.Members {
		known[string(m.ID)] = m
	}
	load := map[string]int{}
	for _, w := range merge(leases, records) {
		if m, ok := known[w.Owner]; ok {
			w.Address = m.Address
			if w.TTLLeftSeconds == 0 {
				w.TTLLeftSeconds = m.TTLLeft.Seconds()
			}
		}
		if w.Held {
			load[w.Owner]++
		}
		v.Workloads = append(v.Workloads, w)
	}
	for _, m := range members.Members {
		v.Instances = append(v.Instances, member{
			ID: string(m.ID), State: memberState(m), Zone: m.Zone, Version: m.Version, Address: m.Address, Capacity: m.Capacity,
			Labels: m.Labels, Workloads: load[string(m.ID)], JoinedAt: m.JoinedAt, TTLLeftSeconds: m.TTLLeft.Seconds(),
		})
	}
	return v, nil
}

func memberState(m registry.Member) string {
	switch {
	case m.Draining:
		return "draining"
	case m.Leaving:
		return "leaving"
	}
	return "active"
}

// merge puts leases, which say who holds what, and statuses, which say what the holder does, together by key.
func merge(leases []lease.Lease, records []status.Record) []workload {
	all, states := map[string]workload{}, map[string]status.State{}
	for _, r := range records {
		states[r.Key] = r.State
		w := workload{
			Key: r.Key, State: string(r.State), Owner: string(r.Owner), Token: r.Token, Since: r.Since,
			TTLLeftSeconds: r.TTLLeft.Seconds(), Info: r.Info,
		}
		if r.Name != r.Key {
			w.Name = r.Name
		}
		if r.State != status.Inactive {
			w.State = unowned
		}
		all[r.Key] = w
	}
	for _, l := range leases {
		w := workload{Key: l.Key, State: "held", Owner: string(l.Owner), Token: l.Token, Since: l.GrantedAt}
		if published, ok := all[l.Key]; ok && published.Token == l.Token {
			w = published
			w.State = string(states[l.Key])
		}
		w.Held = true
		all[l.Key] = w
	}
	return slices.SortedFunc(maps.Values(all), func(a, b workload) int { return cmp.Compare(a.Key, b.Key) })
}
