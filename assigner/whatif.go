package assigner

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// Change is a question to WhatIf. Its parts may be combined; the zero value changes nothing.
type Change struct {
	// Drain lists instances that begin to drain.
	Drain []instance.ID
	// Add is how many instances join.
	Add int
	// Like describes the instances that join, but for ID, JoinedAt and Phase. Nil takes after the
	// latest joiner: its version, zone, capacity and labels.
	Like *Instance
	// Weights changes the weights of workloads.
	Weights map[string]int
}

// Outlook is the answer of WhatIf.
type Outlook struct {
	// Now is the plan without the change.
	Now Plan `json:"now"`
	// Then is the plan after the change, when Now has been carried out: its moves are those that the
	// change alone causes. Instances that joined are named "what-if-1", "what-if-2" and so on.
	Then Plan `json:"then"`
}

// maxAdd bounds a question.
const maxAdd = 100_000

// WhatIf plans a change without making it: drain these, add that many, change those weights. The
// policy of the input applies to both plans. An unknown instance or key is an error that matches
// lease.ErrInvalid.
func WhatIf(a Assigner, in Input, c Change) (Outlook, error) {
	now, err := a.Plan(in)
	if err != nil {
		return Outlook{}, err
	}
	then := in
	then.Owners, then.InFlight = now.Owners(), nil
	if then.Instances, err = c.instances(in.Instances); err != nil {
		return Outlook{}, err
	}
	if then.Workloads, err = c.workloads(in.Workloads); err != nil {
		return Outlook{}, err
	}
	plan, err := a.Plan(then)
	if err != nil {
		return Outlook{}, err
	}
	return Outlook{Now: now, Then: plan}, nil
}

func (c Change) instances(list []Instance) ([]Instance, error) {
	if c.Add < 0 || c.Add > maxAdd {
		return nil, fault.Invalid("Change.Add", c.Add, fmt.Sprintf("must be between 0 and %d", maxAdd))
	}
	list = slices.Clone(list)
	at := make(map[instance.ID]int, len(list))
	var latest Instance
	for i, in := range list {
		at[in.ID] = i
		if i == 0 || in.JoinedAt.After(latest.JoinedAt) || in.JoinedAt.Equal(latest.JoinedAt) && in.ID > latest.ID {
			latest = in
		}
	}
	for _, id := range c.Drain {
		i, ok := at[id]
		if !ok {
			return nil, fault.Invalid("Change.Drain", string(id), "must be one of the input's instances")
		}
		list[i].Phase = Draining
	}
	joined := latest.JoinedAt
	like := latest
	if c.Like != nil {
		like = *c.Like
	}
	for n, added := 1, 0; added < c.Add; n++ {
		like.ID = instance.ID(fmt.Sprintf("what-if-%d", n))
		if _, taken := at[like.ID]; taken {
			continue
		}
		added++
		like.JoinedAt, like.Phase = joined.Add(time.Duration(added)*time.Second), Active
		list = append(list, like)
	}
	return list, nil
}

func (c Change) workloads(list []Workload) ([]Workload, error) {
	if len(c.Weights) == 0 {
		return list, nil
	}
	list = slices.Clone(list)
	found := 0
	for i := range list {
		if weight, ok := c.Weights[list[i].Key]; ok {
			list[i].Weight = weight
			found++
		}
	}
	if found == len(c.Weights) {
		return list, nil
	}
	known := make(map[string]bool, len(list))
	for i := range list {
		known[list[i].Key] = true
	}
	unknown := ""
	for key := range c.Weights {
		if !known[key] && (unknown == "" || key < unknown) {
			unknown = key
		}
	}
	return nil, fault.Invalid("Change.Weights", unknown, "must be one of the input's workloads")
}
