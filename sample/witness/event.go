package witness

import "time"

// Stamp is a reading of a clock that all processes of this machine share; see Now.
type Stamp time.Duration

// Sub returns the time from o to s.
func (s Stamp) Sub(o Stamp) time.Duration { return time.Duration(s - o) }

// Kind says what happened.
type Kind string

// The kinds of events. Pods report the first six; whoever kills, pauses, resumes or wipes reports the rest.
const (
	Joined   Kind = "joined"   // a pod is a member of the fleet
	Started  Kind = "started"  // a worker begins a term
	Draining Kind = "draining" // a worker, or a whole pod, winds down
	Stopped  Kind = "stopped"  // a worker has returned and its lease is about to be let go
	Lost     Kind = "lost"     // a worker has returned because its lease was lost
	Left     Kind = "left"     // a pod has left the fleet and ends
	Killed   Kind = "killed"
	Paused   Kind = "paused"
	Resumed  Kind = "resumed"
	Wiped    Kind = "wiped" // the store has lost all its data
)

// Event is something that happened in the fleet.
type Event struct {
	Kind     Kind   `json:"event"`
	Pod      string `json:"pod,omitempty"`
	Workload string `json:"workload,omitempty"`
	Token    uint64 `json:"token,omitempty"`
	// At is when it happened.
	At Stamp `json:"at"`
	// Valid says that the term was valid when asked after At was read.
	Valid bool `json:"valid,omitempty"`
}

// Write is one entry of the ledger. At was read before the term was asked whether it is valid, and it was.
type Write struct {
	Workload string `json:"workload"`
	Token    uint64 `json:"token"`
	Pod      string `json:"pod"`
	Seq      uint64 `json:"seq"`
	At       Stamp  `json:"at"`
}
