package coordinator

import (
	"sync"
	"time"
)

// Phase says how far a workload has come on its way into or out of an instance.
type Phase string

// The phases.
const (
	Waiting  Phase = "waiting"  // planned for this instance, and must wait
	Assigned Phase = "assigned" // given to the runners, which contend for its lease or run it
	Removing Phase = "removing" // told to stop, not ended yet
)

// job is a workload that this instance runs, is about to run, or is winding down.
type job struct {
	key string
	// Guarded by the jobs' mutex for those who are not the loop:
	phase Phase
	why   string // why it waits or is kept; empty otherwise, or before it is known
	kept  bool   // it runs on although the plan moved it, until the fleet has settled

	// Whether the catalogue of version sought has it, for the loop alone:
	sought uint64
	listed bool

	// Of a waiting job, for the loop alone:
	look   bool          // its status is to be read
	asked  bool          // the status read under way covers it
	opened bool          // its release was hinted at during that read
	since  time.Duration // it has waited for its present reason
}

// jobs are all of them, by key, with an index of those that need looking after. Only the loop
// writes, and it reads without the mutex; everybody else reads with it.
type jobs struct {
	mu       sync.Mutex
	all      map[string]*job
	waiting  map[string]*job
	removing map[string]*job
}

func newJobs() *jobs {
	return &jobs{all: map[string]*job{}, waiting: map[string]*job{}, removing: map[string]*job{}}
}

// wait adds a job that is planned here.
func (js *jobs) wait(key string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j := &job{key: key, phase: Waiting, look: true}
	js.all[key], js.waiting[key] = j, j
}

// pend notes why a job waits, and reports whether that is news.
func (js *jobs) pend(j *job, why string) bool {
	js.mu.Lock()
	defer js.mu.Unlock()
	news := j.why != why
	j.why = why
	return news
}

// assign notes that the runners have it.
func (js *jobs) assign(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.waiting, j.key)
	j.phase, j.why = Assigned, ""
}

// keep notes that it runs on although the plan moved it, or that it does not.
func (js *jobs) keep(j *job, kept bool, why string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j.kept, j.why = kept, why
}

// remove notes that the runners were told to stop it.
func (js *jobs) remove(j *job, why string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j.phase, j.kept, j.why = Removing, false, why
	js.removing[j.key] = j
}

func (js *jobs) forget(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.all, j.key)
	delete(js.waiting, j.key)
	delete(js.removing, j.key)
}
