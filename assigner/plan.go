package assigner

import (
	"slices"
	"strings"

	"github.com/tenure-go/tenure/instance"
)

// Plan says where every workload belongs. Two plans of equal inputs are equal.
type Plan struct {
	// Targets holds every workload that was placed, ordered by key; each key occurs once.
	Targets []Target `json:"targets"`
	// Moves are the differences from where the workloads count now, ordered by key, each with its reason.
	Moves []Move `json:"moves"`
	// Quotas tells, for each instance in the order of IDs, its share and what it gets.
	Quotas []Quota `json:"quotas"`
	// Unplaceable holds every workload that was not placed, ordered by key, with the reason.
	Unplaceable []Unplaced `json:"unplaceable,omitempty"`
	// Frozen says why nothing was levelled; empty where levelling was free to act.
	Frozen string `json:"frozen,omitempty"`
	// Deferred counts the workloads that levelling would move but for Budget and CoolDown.
	Deferred int `json:"deferred,omitempty"`
	// Digest of all inputs. Planners that see the same fleet have the same digest.
	Digest Digest `json:"digest"`
}

// Target is one line of a plan.
type Target struct {
	Key      string      `json:"key"`
	Instance instance.ID `json:"instance"`
}

// Move is one workload that changes its instance.
type Move struct {
	Key string `json:"key"`
	// From is where the workload counted until now: the target of the move under way, or else its
	// owner, which may be gone. Empty where it had none.
	From   instance.ID `json:"from,omitempty"`
	To     instance.ID `json:"to"`
	Reason Reason      `json:"reason"`
}

// Reason says why a workload moves.
type Reason string

// The reasons, the most urgent first. Only level and pin move a workload from an instance that could keep it.
const (
	Orphan  Reason = "orphan"  // nobody has it: new, or its owner is gone
	Evict   Reason = "evict"   // its owner is draining or may not run it any more
	Rollout Reason = "rollout" // its owner is draining while versions are mixed; it goes to the newest version
	Pin     Reason = "pin"     // it is pinned to another instance
	Level   Reason = "level"   // to even the load
)

// Quota is one instance's part of a plan.
type Quota struct {
	Instance instance.ID `json:"instance"`
	// Quota is how many workloads the assigner means this instance to have. It differs from Count
	// while levelling is frozen, deferred or not the assigner's aim.
	Quota int `json:"quota"`
	// Count and Weight are the number and the total weight of the workloads that the plan gives it.
	Count  int   `json:"count"`
	Weight int64 `json:"weight"`
}

// Unplaced is a workload that nobody may run at present.
type Unplaced struct {
	Key string `json:"key"`
	Why string `json:"why"`
}

// Target returns the instance that should run the workload; false where it is not placed. O(log n).
func (p Plan) Target(key string) (instance.ID, bool) {
	at, found := slices.BinarySearchFunc(p.Targets, key, func(t Target, key string) int { return strings.Compare(t.Key, key) })
	if !found {
		return "", false
	}
	return p.Targets[at].Instance, true
}

// For returns the keys of one instance, in order; nil where it has none. O(n).
func (p Plan) For(id instance.ID) []string {
	var keys []string
	for _, t := range p.Targets {
		if t.Instance == id {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// ByInstance returns the keys of every instance that the plan knows, in order. An instance that gets nothing has an empty entry.
func (p Plan) ByInstance() map[instance.ID][]string {
	all := make(map[instance.ID][]string, len(p.Quotas))
	for _, q := range p.Quotas {
		all[q.Instance] = make([]string, 0, q.Count)
	}
	for _, t := range p.Targets {
		all[t.Instance] = append(all[t.Instance], t.Key)
	}
	return all
}

// Owners returns the targets as a map, in the shape of Input.Owners.
func (p Plan) Owners() map[string]instance.ID {
	m := make(map[string]instance.ID, len(p.Targets))
	for _, t := range p.Targets {
		m[t.Key] = t.Instance
	}
	return m
}
