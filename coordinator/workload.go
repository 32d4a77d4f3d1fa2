package coordinator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
)

// Workload is one unit of work of a catalogue. Only Key is required.
type Workload[W any] struct {
	// Key is the identity across the fleet: 1 to 512 bytes of UTF-8 without NUL, compared byte for
	// byte, not beginning with "tenure:".
	Key string
	// Name is for people, at most 512 bytes; empty means that the key is shown.
	Name string
	// Value is handed to the work function. A new value takes effect with the workload's next term.
	Value W
	// Weight, Group, Pin and Requires are for the assigner; see assigner.Workload for their meaning.
	Weight   int
	Group    string
	Pin      instance.ID
	Requires assigner.Selector
	// Drainable, where set, is told the moment the workload's drain begins.
	Drainable drain.Drainable
}

// item is a workload without its type parameter. It never changes once made.
type item struct {
	name      string
	value     any // a *W, so that an interface value of nil survives
	drainable drain.Drainable
}

// catalogue is a validated set of workloads. It never changes once it is in force.
type catalogue struct {
	version   uint64              // rises with every catalogue that comes into force
	print     uint64              // of the keys, whatever their order; never 0
	workloads []assigner.Workload // ordered by key
	items     map[string]*item
}

// compile validates workloads. The error names the first fault, by position and key.
func compile[W any](workloads []Workload[W]) (*catalogue, error) {
	c := &catalogue{items: make(map[string]*item, len(workloads)), workloads: make([]assigner.Workload, 0, len(workloads))}
	first := make(map[string]int, len(workloads))
	for i, w := range workloads {
		if err := w.check(fmt.Sprintf("workloads[%d]", i)); err != nil {
			return nil, err
		}
		if at, dup := first[w.Key]; dup {
			return nil, fault.Invalid(fmt.Sprintf("workloads[%d].Key", i), w.Key, fmt.Sprintf("is the key of workloads[%d] already; give every workload a key of its own", at))
		}
		first[w.Key] = i
		value := w.Value
		c.print += assigner.Hash(w.Key)
		c.items[w.Key] = &item{name: w.Name, value: &value, drainable: w.Drainable}
		c.workloads = append(c.workloads, assigner.Workload{Key: w.Key, Weight: w.Weight, Group: w.Group, Pin: w.Pin, Requires: w.Requires})
	}
	c.print |= 1
	slices.SortFunc(c.workloads, func(a, b assigner.Workload) int { return strings.Compare(a.Key, b.Key) })
	return c, nil
}

// check refuses what the stores or the assigner would refuse later.
func (w Workload[W]) check(at string) error {
	if strings.HasPrefix(w.Key, lease.ReservedPrefix) {
		return fault.Invalid(at+".Key", w.Key, "the prefix "+lease.ReservedPrefix+" is reserved; choose another name")
	}
	for _, f := range []struct {
		name, value string
		required    bool
	}{{".Key", w.Key, true}, {".Name", w.Name, false}, {".Group", w.Group, false}, {".Pin", string(w.Pin), false}} {
		if f.value == "" && !f.required {
			continue
		}
		if err := fault.CheckName(at+f.name, f.value); err != nil {
			return err
		}
	}
	if w.Weight < 0 || w.Weight > assigner.MaxWeight {
		return fault.Invalid(at+".Weight", w.Weight, fmt.Sprintf("must be between 0 (meaning 1) and %d", assigner.MaxWeight))
	}
	if err := w.Requires.Check(); err != nil {
		return fmt.Errorf("%s.Requires: %w", at, err)
	}
	return nil
}
