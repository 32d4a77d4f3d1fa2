package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// fleet is the whole fleet at one look, made once for all who watch. It never changes.
type fleet struct {
	// version rises when something but life times changed.
	version uint64
	at      time.Time // of the look; zero before the first
	tried   time.Time // of the newest attempt
	heard   time.Time
	failing time.Time // since when the store does not answer; zero where it does
	err     error
	members []Member // strangers last
	names   map[instance.ID]string
	rows    []Row // ordered by key
	counts  Counts
	listed  bool // it is known what there is to run
	balance Balance
	local   *coordinator.Snapshot
	// mine is this process's part of local, by key.
	mine      map[string]coordinator.WorkloadInfo
	catalogue []Workload
	events    []Event // oldest first
	silentFor time.Duration
	unowned   time.Duration // how long the longest has had no owner
	verdict   Verdict
}

// sortedCatalogue orders by key and drops what cannot be shown: empty keys and repetitions.
func sortedCatalogue(list []Workload) []Workload {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Workload) int { return strings.Compare(a.Key, b.Key) })
	list = slices.CompactFunc(list, func(a, b Workload) bool { return a.Key == b.Key })
	return slices.DeleteFunc(list, func(w Workload) bool { return w.Key == "" })
}

// merge joins catalogue, leases and statuses, all ordered by key, into rows. roles are the reserved
// keys, by owner.
func merge(r *reading, mine map[string]coordinator.WorkloadInfo, lister bool) (rows []Row, roles map[instance.ID][]string) {
	roles = map[instance.ID][]string{}
	leases, statuses := r.leases, r.statuses
	byKey := func(a, b lease.Lease) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(leases, byKey) {
		leases = slices.SortedFunc(slices.Values(leases), byKey)
	}
	byName := func(a, b status.Record) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(statuses, byName) {
		statuses = slices.SortedFunc(slices.Values(statuses), byName)
	}
	rows = make([]Row, 0, max(len(r.catalogue), len(leases)))
	var c, l, s int
	for c < len(r.catalogue) || l < len(leases) || s < len(statuses) {
		key := ""
		least := func(k string) {
			if key == "" || k < key {
				key = k
			}
		}
		var w *Workload
		var held *lease.Lease
		var rec *status.Record
		if c < len(r.catalogue) {
			least(r.catalogue[c].Key)
		}
		if l < len(leases) {
			least(leases[l].Key)
		}
		if s < len(statuses) {
			least(statuses[s].Key)
		}
		if c < len(r.catalogue) && r.catalogue[c].Key == key {
			w = &r.catalogue[c]
			c++
		}
		for l < len(leases) && leases[l].Key == key {
			held = &leases[l]
			l++
		}
		for s < len(statuses) && statuses[s].Key == key {
			rec = &statuses[s]
			s++
		}
		if role, reserved := strings.CutPrefix(key, lease.ReservedPrefix); reserved {
			if held != nil {
				roles[held.Owner] = append(roles[held.Owner], role)
			}
			continue
		}
		row := join(key, w, held, rec, lister)
		row.Alone = w == nil && r.listed || w != nil && w.Alone
		if row.State == Starting && rec == nil && (row.Alone || len(statuses) == 0) {
			row.State = Active // its runner publishes no status, so it will never say so
		}
		if m, here := mine[key]; here && m.Runner.Stuck {
			row.State = Stuck
		}
		rows = append(rows, row)
	}
	return rows, roles
}

// join makes a row of what is known of one key.
func join(key string, w *Workload, held *lease.Lease, rec *status.Record, lister bool) Row {
	row := Row{Key: key, State: Unowned}
	if w != nil {
		row.Name, row.Weight = w.Name, w.Weight
	}
	if rec != nil {
		row.Name, row.Info = cmp.Or(row.Name, rec.Name), rec.Info
		row.Token = rec.Token
	}
	if row.Name == key {
		row.Name = "" // no need to say it twice
	}
	if !lister && rec != nil && rec.State != status.Inactive {
		// A store that cannot list its leases: what the owners say is all there is.
		held = &lease.Lease{Key: key, Owner: rec.Owner, Token: rec.Token, GrantedAt: rec.Since}
	}
	if held == nil {
		if rec != nil && rec.State == status.Inactive {
			row.State, row.Since = Inactive, rec.Since
		} else if rec != nil {
			row.Info = "" // of an owner that has it no more
		}
		return row
	}
	row.Owner, row.Token, row.Since, row.State = held.Owner, held.Token, held.GrantedAt, Starting
	if rec == nil || rec.Token != held.Token || rec.Owner != held.Owner {
		row.Info = ""
		return row
	}
	switch rec.State {
	case status.Active:
		row.State = Active
	case status.Transferring:
		row.State, row.Since, row.winding = Transferring, rec.Since, rec.Since
	case status.Inactive:
		row.State, row.Since = Transferring, rec.Since
	}
	return row
}

// memberOf describes a member as of the time when it was read.
func (p *Page) memberOf(m registry.Member, name string, local *coordinator.Snapshot, lived time.Duration) Member {
	left := max(m.TTLLeft-lived, 0)
	ttl := p.past.ttl(m, p.cfg.Timing.HeartbeatTTL, p.timed)
	out := Member{
		Instance: m.Instance, Name: name, JoinedAt: m.JoinedAt, Draining: m.Draining, Leaving: m.Leaving, Quota: -1,
		TTLLeftMs: ms(left), TTLMs: ms(ttl), HeartbeatAgeMs: ms(ttl - left), Late: left < ttl/2, states: map[State]int{},
	}
	if local != nil && local.Instance.ID == m.ID {
		out.Here, out.LeaseLeftMs = true, ms(local.Lease.Left)
	}
	return out
}

// people are the members, and those who hold something although they are none.
func (p *Page) people(r *reading, rows []Row, roles map[instance.ID][]string, names map[instance.ID]string) []Member {
	out := make([]Member, 0, len(r.members)+1)
	index := make(map[instance.ID]int, len(r.members))
	for _, m := range r.members {
		index[m.ID] = len(out)
		out = append(out, p.memberOf(m, names[m.ID], r.local, r.at.Sub(r.heard)))
	}
	for i := range rows {
		row := &rows[i]
		if row.Owner == "" {
			continue
		}
		at, known := index[row.Owner]
		if !known {
			at = len(out)
			index[row.Owner] = at
			out = append(out, Member{
				Instance: instance.Instance{ID: row.Owner}, Name: names[row.Owner], Stranger: true, Quota: -1, states: map[State]int{},
			})
		}
		m := &out[at]
		m.Held++
		m.states[row.State]++
		if !row.Alone {
			m.Planned++
			m.Weight += int64(max(row.Weight, 1))
		}
	}
	for id, held := range roles {
		if at, ok := index[id]; ok {
			out[at].Roles = held
		}
	}
	if r.local != nil {
		for _, q := range r.local.Plan.Plan.Quotas {
			if at, ok := index[q.Instance]; ok {
				out[at].Quota = q.Quota
			}
		}
	}
	return out
}

func ms(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
