package soak

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// figures are named readings. A pod's are the mean over all pods that answered.
type figures map[string]float64

const megabyte = 1 << 20

// What is watched.
const (
	podMemory     = "memory of a pod, MB"
	podHeap       = "heap of a pod, MB"
	podGoroutines = "goroutines of a pod"
	podFiles      = "open files of a pod"
	parentMemory  = "memory of the parent, MB"
	parentFiles   = "open files of the parent"
	storeBytes    = "size of the store, MB"
	storeRecords  = "records in the store"
	storeClients  = "connections to the store"
)

// noise is how much larger the last fifth of a run may be than the second, by reasons other than growth: chaos leaves
// more pods alive at one time than at another, and a wipe empties the store.
const noise = 1.25

// allowance is what may come on top of that: figures near zero double by chance.
var allowance = figures{
	podMemory: 8, podHeap: 4, podGoroutines: 30, podFiles: 5, parentMemory: 24, parentFiles: 12,
	storeBytes: 2, storeRecords: 8, storeClients: 12,
}

// history is all readings of a run, in order.
type history struct {
	at   []time.Duration
	read []figures
}

// add notes what was read at a time.
func (h *history) add(at time.Duration, parts ...figures) {
	all := figures{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	h.at, h.read = append(h.at, at), append(h.read, all)
}

func (h *history) len() int { return len(h.read) }

// names lists what was ever read.
func (h *history) names() []string {
	seen := map[string]bool{}
	for _, f := range h.read {
		for name := range f {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// ends returns the medians of the second and of the last fifth of a run. In the first one caches fill, and what is kept for
// some minutes after its end gathers.
func (h *history) ends(took time.Duration) (first, last figures) {
	first, last = figures{}, figures{}
	for _, name := range h.names() {
		var early, late []float64
		for i, f := range h.read {
			v, ok := f[name]
			switch {
			case !ok:
			case h.at[i] < took/5:
			case h.at[i] <= took*2/5:
				early = append(early, v)
			case h.at[i] >= took*4/5:
				late = append(late, v)
			}
		}
		first[name], last[name] = median(early), median(late)
	}
	return first, last
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// Growth is told from noise, and a figure that was not read all the time does not disturb the others.
func TestEndsOfAHistory(t *testing.T) {
	var h history
	for i := range 100 {
		f := figures{podHeap: 10 + float64(i)}
		if i%2 == 0 {
			f[storeBytes] = 5
		}
		h.add(time.Duration(i)*time.Second, f, nil)
	}
	first, last := h.ends(100 * time.Second)
	if first[podHeap] != 40 || last[podHeap] != 100 || first[storeBytes] != 5 || last[storeBytes] != 5 {
		t.Errorf("first %v, last %v", first, last)
	}
}
