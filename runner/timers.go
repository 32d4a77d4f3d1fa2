package runner

import (
	"container/heap"
	"time"
)

// timers is a heap of the workloads that something must happen to at a time: one timer serves
// them all.
type timers []*workload

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].due < t[j].due }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].heapPos, t[j].heapPos = i, j
}

// Push and Pop are for container/heap.
func (t *timers) Push(x any) {
	w := x.(*workload)
	w.heapPos = len(*t)
	*t = append(*t, w)
}

// Pop removes the last element.
func (t *timers) Pop() any {
	old := *t
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	w.heapPos = -1
	return w
}

// arm sets the workload's one timer, replacing what it was set to. The mutex is held.
func (s *Set) arm(w *workload, wait time.Duration) {
	w.due = s.line.Now() + wait
	if w.heapPos < 0 {
		heap.Push(&s.timers, w)
	} else {
		heap.Fix(&s.timers, w.heapPos)
	}
}

// disarm stops the workload's timer. The mutex is held.
func (s *Set) disarm(w *workload) {
	if w.heapPos >= 0 {
		heap.Remove(&s.timers, w.heapPos)
	}
}

// fire handles every workload whose time has come. The mutex is held.
func (s *Set) fire(now time.Duration) {
	for len(s.timers) > 0 && s.timers[0].due <= now {
		s.expired(heap.Pop(&s.timers).(*workload))
	}
}
