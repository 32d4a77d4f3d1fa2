package coordinator

import (
	"cmp"
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

// item is what the runners need of a workload.
type item struct {
	name      string
	value     any // a *W, so that an interface value of nil survives
	drainable drain.Drainable
}

// catalogue is a validated set of workloads. It never changes once it is in force. Every instance has all of it,
// however little it runs: so it is kept in slices of the same order, and what hardly any workload has only where
// one has it.
type catalogue struct {
	version    uint64              // rises with every catalogue that comes into force, from 1
	print      uint64              // of the keys, whatever their order; never 0
	workloads  []assigner.Workload // ordered by key
	value      func(at int) any
	names      []string          // nil where none has one
	drainables []drain.Drainable // nil where none has one
}

// find returns where a workload is, or -1.
func (c *catalogue) find(key string) int {
	at, found := slices.BinarySearchFunc(c.workloads, key, func(w assigner.Workload, key string) int { return strings.Compare(w.Key, key) })
	if !found {
		return -1
	}
	return at
}

// item returns the workload at a position that find returned.
func (c *catalogue) item(at int) item {
	it := item{value: c.value(at)}
	if c.names != nil {
		it.name = c.names[at]
	}
	if c.drainables != nil {
		it.drainable = c.drainables[at]
	}
	return it
}

// compile validates workloads. The error names the first fault, by position and key.
func compile[W any](workloads []Workload[W]) (*catalogue, error) {
	order := make([]int, len(workloads))
	for i, w := range workloads {
		order[i] = i
		if err := w.check(fmt.Sprintf("workloads[%d]", i)); err != nil {
			return nil, cmp.Or(checkTwice(workloads[:i]), err)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(workloads[a].Key, workloads[b].Key) })
	values := make([]W, len(workloads))
	c := &catalogue{version: 1, workloads: make([]assigner.Workload, len(workloads)), value: func(at int) any { return &values[at] }}
	for at, i := range order {
		w := workloads[i]
		if at > 0 && w.Key == c.workloads[at-1].Key {
			return nil, checkTwice(workloads)
		}
		c.print += assigner.Hash(w.Key)
		c.workloads[at] = assigner.Workload{Key: w.Key, Weight: w.Weight, Group: w.Group, Pin: w.Pin, Requires: w.Requires}
		values[at] = w.Value
		if w.Name != "" {
			c.names = put(c.names, at, w.Name, len(workloads))
		}
		if w.Drainable != nil {
			c.drainables = put(c.drainables, at, w.Drainable, len(workloads))
		}
	}
	c.print |= 1
	return c, nil
}

// put sets an element of a slice that is made when its first element is set.
func put[T any](s []T, at int, v T, n int) []T {
	if s == nil {
		s = make([]T, n)
	}
	s[at] = v
	return s
}

// checkTwice names the first workload whose key an earlier one has.
func checkTwice[W any](workloads []Workload[W]) error {
	first := make(map[string]int, len(workloads))
	for i, w := range workloads {
		if at, dup := first[w.Key]; dup {
			return fault.Invalid(fmt.Sprintf("workloads[%d].Key", i), w.Key, fmt.Sprintf("is the key of workloads[%d] already; give every workload a key of its own", at))
		}
		first[w.Key] = i
	}
	return nil
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
