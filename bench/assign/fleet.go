package main

import (
	"fmt"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// fleet is a set of workloads and the pods that they are on. It plays the fleet's life against one
// contender and counts.
type fleet struct {
	seed   int
	keys   []string
	pods   []pod             // in the order of joining
	owner  map[string]string // key -> pod
	moves  []int             // per key
	number map[string]int
	joined int
	peak   int
}

type pod struct {
	id, version string
	joined      int
	draining    bool
}

func newFleet(seed, workloads, pods int) *fleet {
	f := &fleet{seed: seed, keys: make([]string, workloads), owner: map[string]string{}, moves: make([]int, workloads), number: map[string]int{}}
	for i := range f.keys {
		f.keys[i] = fmt.Sprintf("workload-%06d", i*7919%workloads) // in no particular order
		f.number[f.keys[i]] = i
	}
	f.join("old", pods)
	return f
}

// join adds pods with random names, as a Deployment does.
func (f *fleet) join(version string, count int) {
	for range count {
		f.joined++
		id := fmt.Sprintf("app-%010x", assigner.Score(uint64(f.seed), uint64(f.joined))>>24)
		f.pods = append(f.pods, pod{id: id, version: version, joined: f.joined})
	}
}

func (f *fleet) leave(at int) { f.pods = append(f.pods[:at:at], f.pods[at+1:]...) }

// settle lets the contender place everything, and returns how many workloads changed their pod.
func (f *fleet) settle(c contender) (moved int) {
	next := c.place(f)
	load := map[string]int{}
	for _, key := range f.keys {
		if was := f.owner[key]; was != "" && was != next[key] {
			moved++
			f.moves[f.number[key]]++
		}
		load[next[key]]++
		f.peak = max(f.peak, load[next[key]])
	}
	f.owner = next
	return moved
}

// loads returns the most and the fewest workloads of one pod.
func (f *fleet) loads() (most, least int) {
	load := map[string]int{}
	for _, id := range f.owner {
		load[id]++
	}
	least = len(f.keys)
	for _, p := range f.pods {
		most, least = max(most, load[p.id]), min(least, load[p.id])
	}
	return most, least
}

// usable lists the pods that may be given work, in the order of joining.
func (f *fleet) usable() []string {
	var ids []string
	for _, p := range f.pods {
		if !p.draining {
			ids = append(ids, p.id)
		}
	}
	return ids
}

// input is the fleet as an assigner sees it.
func (f *fleet) input() assigner.Input {
	in := assigner.Input{Workloads: make([]assigner.Workload, len(f.keys)), Owners: make(map[string]instance.ID, len(f.owner))}
	for i, key := range f.keys {
		in.Workloads[i].Key = key
	}
	for _, p := range f.pods {
		m := assigner.Instance{ID: instance.ID(p.id), Version: p.version, JoinedAt: time.Unix(int64(p.joined), 0)}
		if p.draining {
			m.Phase = assigner.Draining
		}
		in.Instances = append(in.Instances, m)
	}
	for key, id := range f.owner {
		in.Owners[key] = instance.ID(id)
	}
	return in
}
