package assigner

import (
	"fmt"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// Assemble makes a whole Plan (ordered targets, moves with reasons, quotas, digest) of a bare
// choice. It is for assigners of your own: choose an instance for each workload and let Assemble
// do the rest. A workload that is absent from choice is unplaceable, and so is one that was given
// to an instance that may not run it (draining, or without the required labels); Policy.Hold is
// obeyed. A choice of an instance that is not in the input is an error that matches lease.ErrInvalid.
func Assemble(in Input, choice map[string]instance.ID) (Plan, error) {
	x, err := NewIndex(in)
	if err != nil {
		return Plan{}, err
	}
	if p, held := x.hold(); held {
		return p, nil
	}
	place := make([]int32, len(x.key))
	for w := range x.key {
		place[w] = none
		id, ok := choice[x.key[w]]
		if !ok {
			continue
		}
		name, known := x.nameOf[id]
		if !known || x.instOf[name] == none {
			return Plan{}, fault.Invalid(fmt.Sprintf("choice for workload %q", x.key[w]), string(id), "must be one of the input's instances")
		}
		if i := x.instOf[name]; x.mayRun(int32(w), i) {
			place[w] = i
		}
	}
	return x.finish(x.positions(), outcome{place: place}), nil
}

// mayRun reports whether a workload may be given to an instance or may stay there. A pin is not
// looked at: it is a wish, and an assigner of the user's own may overrule it.
func (x *Index) mayRun(w, i int32) bool {
	return x.inst[i].Phase != Draining && x.match[x.sel[w]].has(i)
}
