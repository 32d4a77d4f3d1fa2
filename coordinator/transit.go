package coordinator

import (
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// transit is what the planner knows about moves: those of healthy workloads that are under way, which
// budget and caps count, and when each workload moved last.
type transit struct {
	healthy map[string]passage
	moved   map[string]time.Duration // on the engine's line
}

type passage struct{ from, to instance.ID }

func newTransit() transit {
	return transit{healthy: map[string]passage{}, moved: map[string]time.Duration{}}
}

// arrived forgets the moves that have ended, or that another decision has replaced.
func (t *transit) arrived(owners, aim map[string]instance.ID) {
	for key, p := range t.healthy {
		if owners[key] == p.to || aim[key] != p.to {
			delete(t.healthy, key)
		}
	}
}

// note remembers the moves of a plan; before are the targets until now. What is placed for the first
// time does not move.
func (t *transit) note(now time.Duration, plan assigner.Plan, before map[string]instance.ID) {
	for _, m := range plan.Moves {
		if m.From != "" || before[m.Key] != "" {
			t.moved[m.Key] = now
		}
		if levels(m) {
			t.healthy[m.Key] = passage{m.From, m.To}
		}
	}
}

// levels reports whether a move takes a workload from an instance that could keep it.
func levels(m assigner.Move) bool { return m.Reason == assigner.Level || m.Reason == assigner.Pin }

// cooling returns the workloads that moved less than the time d ago, ordered, and forgets the others.
func (t *transit) cooling(now, d time.Duration) []string {
	var keys []string
	for key, at := range t.moved {
		if now-at >= d {
			delete(t.moved, key)
			continue
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// restrain takes moves of healthy workloads back that would put too many on their way to or from one
// instance at a time; a negative cap means none. It returns how many.
func (t *transit) restrain(plan *assigner.Plan, workloads []assigner.Workload, in, out int) (back int) {
	into, outof := map[instance.ID]int{}, map[instance.ID]int{}
	for _, p := range t.healthy {
		into[p.to]++
		outof[p.from]++
	}
	quota := make(map[instance.ID]*assigner.Quota, len(plan.Quotas))
	for i := range plan.Quotas {
		quota[plan.Quotas[i].Instance] = &plan.Quotas[i]
	}
	kept := make([]assigner.Move, 0, len(plan.Moves))
	for _, m := range plan.Moves {
		full := in >= 0 && into[m.To] >= in || out >= 0 && outof[m.From] >= out
		if !levels(m) || !full {
			if levels(m) {
				into[m.To]++
				outof[m.From]++
			}
			kept = append(kept, m)
			continue
		}
		at, _ := slices.BinarySearchFunc(plan.Targets, m.Key, func(t assigner.Target, key string) int { return strings.Compare(t.Key, key) })
		plan.Targets[at].Instance = m.From
		weight := weightOf(workloads, m.Key)
		quota[m.To].Count, quota[m.To].Weight = quota[m.To].Count-1, quota[m.To].Weight-weight
		quota[m.From].Count, quota[m.From].Weight = quota[m.From].Count+1, quota[m.From].Weight+weight
		back++
	}
	plan.Moves = kept
	plan.Deferred += back
	return back
}

// weightOf looks a workload up; they are ordered by key.
func weightOf(workloads []assigner.Workload, key string) int64 {
	at, found := slices.BinarySearchFunc(workloads, key, func(w assigner.Workload, key string) int { return strings.Compare(w.Key, key) })
	if !found || workloads[at].Weight == 0 {
		return 1
	}
	return int64(workloads[at].Weight)
}

// record is what a successor inherits.
func (t *transit) record(now time.Duration) []moved {
	all := make([]moved, 0, len(t.moved))
	for key, at := range t.moved {
		all = append(all, moved{key, now - at})
	}
	return newest(all)
}
