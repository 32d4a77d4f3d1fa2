package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// ledger is what the planner has decided, and what of it the store has, as far as is known.
type ledger struct {
	epoch uint64
	sets  map[instance.ID]written
	aim   map[string]instance.ID        // the target of every workload, as decided last
	late  map[instance.ID]time.Duration // who does not run all of its set, and since when
	lost  []absent                      // members that a predecessor knew and that were missing from the start
	// told is what the last head was written about, and when.
	told   facts
	toldAt time.Duration
}

// written is one instance's set in the store.
type written struct {
	keys         []string
	token, epoch uint64
	incarnation  uint64
	doubtful     bool // it may not be there: it is written again
}

func newLedger() ledger {
	return ledger{sets: map[instance.ID]written{}, aim: map[string]instance.ID{}, late: map[instance.ID]time.Duration{}}
}

// read takes over what a predecessor wrote. Where a write was broken off in the middle a workload may
// be in two sets: the one that was written last counts. Sets of an earlier incarnation say nothing.
func (g *ledger) read(sets []assigner.Set, incarnation uint64) {
	sets = slices.Clone(sets)
	slices.SortStableFunc(sets, func(a, b assigner.Set) int {
		return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(a.Epoch, b.Epoch))
	})
	for _, s := range sets {
		g.sets[s.Instance] = written{keys: s.Keys, token: s.Token, epoch: s.Epoch, incarnation: s.Incarnation}
		if s.Incarnation < incarnation || s.Instance == catalogueID {
			continue
		}
		for _, key := range s.Keys {
			g.aim[key] = s.Instance
		}
	}
}

// doubtAll has every set written again.
func (g *ledger) doubtAll() {
	for id, w := range g.sets {
		w.doubtful = true
		g.sets[id] = w
	}
}

// doubt has one set written again.
func (g *ledger) doubt(id instance.ID) {
	w := g.sets[id]
	w.doubtful = true
	g.sets[id] = w
}

// inFlight is the target of every workload that is not there.
func (g *ledger) inFlight(owners map[string]instance.ID) map[string]instance.ID {
	moving := map[string]instance.ID{}
	for key, to := range g.aim {
		if owners[key] != to {
			moving[key] = to
		}
	}
	return moving
}

// decide takes a plan for the decision.
func (g *ledger) decide(plan assigner.Plan) {
	g.aim = make(map[string]instance.ID, len(plan.Targets))
	for _, t := range plan.Targets {
		g.aim[t.Key] = t.Instance
	}
}

// changes returns what must be written so that the store has the plan: sets that gain first, so that
// where a write breaks off in the middle nothing has been given up that nobody was given.
func (g *ledger) changes(plan assigner.Plan, fingerprint, incarnation uint64) (sets []assigner.Set, gone []instance.ID) {
	all := plan.ByInstance()
	add := func(id instance.ID, keys []string) {
		if w, known := g.sets[id]; !known || w.doubtful || w.incarnation != incarnation || !slices.Equal(w.keys, keys) {
			sets = append(sets, assigner.Set{Instance: id, Keys: keys})
		}
	}
	for _, q := range plan.Quotas {
		add(q.Instance, all[q.Instance])
	}
	slices.SortStableFunc(sets, func(a, b assigner.Set) int {
		return cmp.Compare(len(b.Keys)-len(g.sets[b.Instance].keys), len(a.Keys)-len(g.sets[a.Instance].keys))
	})
	// Whose plan it is comes first of all.
	others := sets
	sets = nil
	add(catalogueID, []string{fmt.Sprintf("%016x", fingerprint)})
	sets = append(sets, others...)
	for id := range g.sets {
		if _, lives := all[id]; !lives && id != catalogueID {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	return sets, gone
}

// wrote notes the outcome of a batch.
func (g *ledger) wrote(head assigner.Head, sets []assigner.Set, gone []instance.ID, err error) {
	for _, s := range sets {
		g.sets[s.Instance] = written{keys: s.Keys, token: head.Token, epoch: head.Epoch, incarnation: head.Incarnation, doubtful: err != nil}
	}
	for _, id := range gone {
		if err == nil {
			delete(g.sets, id)
		}
	}
}

// behind notes who does not run all of its set yet, and reports whether anybody does not.
func (g *ledger) behind(now time.Duration, owners map[string]instance.ID) bool {
	late := map[instance.ID]time.Duration{}
	for key, to := range g.aim {
		if owners[key] == to {
			continue
		}
		if since, was := g.late[to]; was {
			late[to] = since
		} else {
			late[to] = now
		}
	}
	g.late = late
	return len(late) > 0
}
