package memory

import (
	"maps"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// data is all that a store writes down, and so all that it may lose. Maps hold values, not
// pointers: a clone of the maps is a full copy.
type data struct {
	marker     marker
	floor      uint64 // the highest token granted or re-asserted, over all keys
	sessions   map[string]session
	leases     map[string]record
	generation registry.Generation
	members    map[instance.ID]member
	lives      map[instance.ID]time.Time // when the statuses of each owner expire
	statuses   map[string]status.Record
	head       assigner.Head
	targets    map[instance.ID]assigner.Set
}

// marker says which server's life the data belongs to. Data under another server's marker, or
// under none, may lack the latest writes.
type marker struct {
	server      uint64
	number      uint64
	frozenUntil time.Time
}

func (d data) clone() data {
	d.sessions, d.leases, d.members = clone(d.sessions), clone(d.leases), clone(d.members)
	d.lives, d.statuses, d.targets = clone(d.lives), clone(d.statuses), clone(d.targets)
	return d
}

func clone[K comparable, V any](m map[K]V) map[K]V {
	c := make(map[K]V, len(m))
	maps.Copy(c, m)
	return c
}

// incarnation is what every lease call answers with. It begins a new one where the marker is not
// this server's: latest writes may be missing, so nothing new is granted until every session that
// could have been open under them has lapsed or was renewed and its leases were verified.
func (f *fleet) incarnation(now time.Time) lease.Incarnation {
	if !f.cfg.Incarnations {
		return lease.Incarnation{Number: 1}
	}
	if f.marker.server != f.server {
		f.begin(now, now.Add(f.cfg.MaxTTL))
	}
	return lease.Incarnation{Number: f.marker.number, FrozenFor: max(0, f.marker.frozenUntil.Sub(now))}
}

// begin counts by the clock, so that the number grows even where the old one was lost.
func (f *fleet) begin(now, frozenUntil time.Time) {
	number := max(f.marker.number+1, micros(now), f.server)
	f.marker = marker{server: f.server, number: number, frozenUntil: frozenUntil}
}

// unsettled reports a freeze, or one that the next lease call will begin.
func (f *fleet) unsettled(now time.Time) bool {
	return f.cfg.Incarnations && (f.marker.server != f.server || now.Before(f.marker.frozenUntil))
}

// Snapshot is a copy of all data of a fleet at one moment; see Store.Restore.
type Snapshot struct{ data data }

// Snapshot copies all data, for Restore. It is for tests and simulations.
func (s *Store) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Snapshot{s.data.clone()}
}

// Restore restarts the fleet's server with the data of a snapshot of the same fleet: every write
// since is lost. Nil means that all data is lost. With Config.Incarnations the next lease call begins a
// new incarnation. Handles stay usable, and a snapshot may be restored any number of times.
func (s *Store) Restore(from *Snapshot) {
	if from == nil {
		from = &Snapshot{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Two lives never share a fingerprint or a generation, even where virtual time stands still.
	s.server = max(s.server+1, micros(time.Now()))
	generation := s.generation + 1
	s.data = from.data.clone()
	s.generation = max(s.generation, generation)
	s.hint(lease.Change{Kind: lease.ChangeResync})
}
