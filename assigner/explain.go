package assigner

import (
	"fmt"
	"slices"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// Explanation says why a workload is where a plan puts it.
type Explanation struct {
	Key string `json:"key"`
	// Instance is where the plan puts it; empty where nobody may run it.
	Instance instance.ID `json:"instance,omitempty"`
	// From is where it counted before: the target of the move under way, or else its owner.
	From instance.ID `json:"from,omitempty"`
	// Reason of its move; empty where it stays.
	Reason Reason `json:"reason,omitempty"`
	// Rule is what decided, in a sentence for people.
	Rule string `json:"rule"`
	// RunnerUp is where it would go if Instance were draining; empty where nobody else may run it.
	RunnerUp instance.ID `json:"runnerUp,omitempty"`
	// Excluded lists the instances that may not be given it, ordered by ID, with the reasons.
	Excluded []Exclusion `json:"excluded,omitempty"`
	// Frozen is the plan's: why nothing is levelled now.
	Frozen string `json:"frozen,omitempty"`
	// Digest of the inputs that were explained.
	Digest Digest `json:"digest"`
}

// Exclusion says why an instance may not be given a workload.
type Exclusion struct {
	Instance instance.ID `json:"instance"`
	Why      string      `json:"why"`
}

// Explain plans twice, the second time without the instance that the workload is on, and says why
// the workload is there and who comes next. It works with every Assigner, also one of your own. An
// unknown key is an error that matches lease.ErrInvalid.
func Explain(a Assigner, in Input, key string) (Explanation, error) {
	x, err := NewIndex(in)
	if err != nil {
		return Explanation{}, err
	}
	w, ok := slices.BinarySearch(x.key, key)
	if !ok {
		return Explanation{}, fault.Invalid("workload key", key, "must be one of the input's workloads")
	}
	p, err := a.Plan(in)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Key: key, Excluded: x.excluded(int32(w)), Frozen: p.Frozen, Digest: p.Digest}
	e.Instance, _ = p.Target(key)
	if at := x.position(int32(w)); at != none {
		e.From = x.inst[at].ID
	} else if x.owner[w] != none {
		e.From = x.names[x.owner[w]]
	}
	for _, m := range p.Moves {
		if m.Key == key {
			e.Reason = m.Reason
		}
	}
	e.Rule = x.rule(a, int32(w), e, p)
	if e.Instance != "" {
		e.RunnerUp, err = runnerUp(a, in, e.Instance, key)
	}
	return e, err
}

// runnerUp plans as if an instance were draining.
func runnerUp(a Assigner, in Input, without instance.ID, key string) (instance.ID, error) {
	in.Policy.Hold = ""
	in.Instances = slices.Clone(in.Instances)
	for i := range in.Instances {
		if in.Instances[i].ID == without {
			in.Instances[i].Phase = Draining
		}
	}
	p, err := a.Plan(in)
	if err != nil {
		return "", err
	}
	id, _ := p.Target(key)
	return id, nil
}

// excluded lists the instances that may not be given a workload.
func (x *Index) excluded(w int32) []Exclusion {
	var list []Exclusion
	for i := range x.inst {
		var why string
		switch c := x.classOf[w]; {
		case !x.match[x.sel[w]].has(int32(i)):
			why = fmt.Sprintf("its labels do not satisfy %s", x.selectors[x.sel[w]])
		case x.inst[i].Phase == Draining:
			why = "it is draining"
		case c != none && x.classes[c].set.has(int32(i)):
			continue
		case x.active[i]:
			why = fmt.Sprintf("the workload is pinned to %s", x.pinOf[w])
		default:
			why = fmt.Sprintf("it is %s: it keeps what it has and gets nothing new", x.inst[i].Phase)
		}
		list = append(list, Exclusion{x.inst[i].ID, why})
	}
	return list
}

// rule puts the decision into words.
func (x *Index) rule(a Assigner, w int32, e Explanation, p Plan) string {
	switch {
	case e.Instance == "":
		return unplaced(p, e.Key)
	case x.pinOf[w] == e.Instance:
		return fmt.Sprintf("it is pinned to %s", e.Instance)
	case e.Reason == "":
		return x.stays(a, e, p)
	case e.Reason == Orphan && e.From == "":
		return "nobody has it; " + choice(a)
	case e.Reason == Orphan:
		return fmt.Sprintf("its owner %s is gone; %s", e.From, choice(a))
	case e.Reason == Rollout:
		return fmt.Sprintf("its owner %s is draining in a rolling update; it goes to the newest version", e.From)
	case e.Reason == Evict:
		return fmt.Sprintf("its owner %s is draining or may not run it any more; %s", e.From, choice(a))
	}
	return fmt.Sprintf("the plan levels: %s", choice(a))
}

func unplaced(p Plan, key string) string {
	for _, u := range p.Unplaceable {
		if u.Key == key {
			return u.Why
		}
	}
	return "the plan does not mention it"
}

// stays says why nothing changes for a workload.
func (x *Index) stays(a Assigner, e Explanation, p Plan) string {
	for _, q := range p.Quotas {
		switch {
		case q.Instance != e.Instance:
		case p.Frozen != "":
			return fmt.Sprintf("%s has it, and nothing is levelled now: %s", e.Instance, p.Frozen)
		case q.Count > q.Quota:
			return fmt.Sprintf("%s has it, and %d more than its quota of %d, but the budget or a cool-down defers the rest", e.Instance, q.Count-q.Quota, q.Quota)
		}
	}
	return fmt.Sprintf("%s has it already and keeps it; %s", e.Instance, choice(a))
}

// choice says how an assigner of this package chooses.
func choice(a Assigner) string {
	switch a.(type) {
	case Sticky:
		return "workloads are spread evenly, with the fewest moves"
	case Weighted:
		return "weights are kept inside a band around the level"
	case Rendezvous:
		return "the instance that scores highest for the key gets it"
	case Partition:
		return "partitions are spread evenly, with the fewest moves"
	case Balanced:
		return "instances get even slices of the sorted keys, in the order of joining"
	case Primary:
		return "everything goes to one instance, the one that joined first"
	}
	return "the assigner chose so"
}
