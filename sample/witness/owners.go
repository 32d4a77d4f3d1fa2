package witness

import (
	"cmp"
	"maps"
	"slices"
)

// Owner is who works on a workload now.
type Owner struct {
	Workload string
	Pod      string // empty: nobody was ever seen
	Token    uint64
	Since    Stamp
	// State is running, draining, paused, silent (no recent sign), or ended.
	State string
}

// Owned reports whether somebody works on the workload.
func (o Owner) Owned() bool { return o.State == "running" || o.State == "draining" }

// Owners returns who works on what, ordered by workload.
func (w *Witness) Owners() []Owner {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Owner
	for _, key := range slices.Sorted(maps.Keys(w.workloads)) {
		out = append(out, w.owner(key))
	}
	return out
}

func (w *Witness) owner(key string) Owner {
	t := w.workloads[key].newest()
	if t == nil {
		return Owner{Workload: key, State: "ended"}
	}
	o := Owner{Workload: key, Pod: t.pod, Token: t.token, Since: t.started, State: "running"}
	p := w.pods[t.pod]
	switch {
	case t.ended != "", p != nil && p.gone():
		o.State = "ended"
	case p != nil && p.paused:
		o.State = "paused"
	case w.now().Sub(t.seen) > w.fresh:
		o.State = "silent"
	case t.draining:
		o.State = "draining"
	}
	return o
}

// Unowned returns the workloads that nobody works on.
func (w *Witness) Unowned() []string {
	var out []string
	for _, o := range w.Owners() {
		if !o.Owned() {
			out = append(out, o.Workload)
		}
	}
	return out
}

// Pod is a process of the fleet that has not ended.
type Pod struct {
	Name string
	// State is joining, running, draining or paused.
	State string
	// Runs is how many workloads of the catalogue it works on.
	Runs int
}

// Pods returns the pods that have not ended, in the order of their names' numbers.
func (w *Witness) Pods() []Pod {
	load, _ := w.Balance()
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Pod
	for name, p := range w.pods {
		state := "running"
		switch {
		case p.gone():
			continue
		case p.paused:
			state = "paused"
		case p.draining:
			state = "draining"
		case !p.joined:
			state = "joining"
		}
		out = append(out, Pod{Name: name, State: state, Runs: load[name]})
	}
	slices.SortFunc(out, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name)) // pod-9 before pod-10
	})
	return out
}

// Takes reports whether the pod is a member that may be given work.
func (w *Witness) Takes(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[name]
	return p != nil && p.takes()
}

// Balance returns how many workloads of the catalogue each pod runs, and whether all have an owner
// and no two pods that take work differ by more than one.
func (w *Witness) Balance() (load map[string]int, even bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	load = map[string]int{}
	for name, p := range w.pods {
		if p.takes() {
			load[name] = 0
		}
	}
	even = true
	for _, key := range w.catalogue {
		o := w.owner(key)
		if !o.Owned() {
			even = false
			continue
		}
		if _, takes := load[o.Pod]; !takes {
			even = false
		}
		load[o.Pod]++
	}
	counts := slices.Collect(maps.Values(load))
	return load, even && len(counts) > 0 && slices.Max(counts)-slices.Min(counts) <= 1
}
