package assigner

import (
	"fmt"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// Input is all that a plan depends on. The order of the slices does not matter.
type Input struct {
	// Workloads are the units to give out. Keys are unique.
	Workloads []Workload
	// Instances are the live members of the fleet, draining ones included. IDs are unique.
	Instances []Instance
	// Owners says who holds each workload now. A workload that is absent, or whose owner is not
	// among Instances, is an orphan. Keys that are no workload's are ignored.
	Owners map[string]instance.ID
	// InFlight is the target of every move that has begun and not ended. Such a workload counts at
	// its target, so that it is not moved twice; where the target is gone, it counts at its owner.
	InFlight map[string]instance.ID
	// Policy restrains the plan. The zero value restrains nothing.
	Policy Policy
}

// Workload is one unit of work. Only Key is required.
type Workload struct {
	// Key is the identity: 1 to 512 bytes of UTF-8 without NUL, compared byte for byte.
	Key string `json:"key"`
	// Weight is the load that the workload brings, in any unit, for assigners that look at it
	// (Weighted). Zero means 1; the most is MaxWeight. Round it coarsely and change it rarely:
	// every change of a weight is a reason to level again.
	Weight int `json:"weight,omitempty"`
	// Group names workloads that should be spread over instances and zones where that costs neither
	// balance nor a move. Empty means none.
	Group string `json:"group,omitempty"`
	// Pin names the instance that should run this workload. While that instance is active and
	// satisfies Requires, nobody else gets the workload; otherwise the pin is as if absent.
	Pin instance.ID `json:"pin,omitempty"`
	// Requires restricts the workload to instances whose labels match. Empty matches all.
	Requires Selector `json:"requires,omitempty"`
}

// MaxWeight is the largest weight of one workload.
const MaxWeight = 1_000_000

// Instance is one member of the fleet as a planner sees it. Only ID is required.
type Instance struct {
	ID instance.ID `json:"id"`
	// JoinedAt is the store's join time; equal times are ordered by ID.
	JoinedAt time.Time `json:"joinedAt"`
	// Capacity is the share of the work relative to others. Zero means 1; the most is instance.MaxCapacity.
	Capacity int `json:"capacity,omitempty"`
	// Zone is the failure domain. Empty is a zone of its own.
	Zone string `json:"zone,omitempty"`
	// Version is the rollout cohort. Empty is a cohort of its own.
	Version string `json:"version,omitempty"`
	// Phase says what the instance may be given.
	Phase Phase `json:"phase,omitempty"`
	// Labels are what Workload.Requires selects by.
	Labels map[string]string `json:"labels,omitempty"`
}

func (i *Instance) capacity() int64 {
	if i.Capacity == 0 {
		return 1
	}
	return int64(i.Capacity)
}

func (i *Instance) check() error {
	switch i.Phase {
	case Active, Draining, Joining, Suspect, Suppressed:
	default:
		return fault.Invalid("instance phase", string(i.Phase), "must be empty, draining, joining, suspect or suppressed")
	}
	full := instance.Instance{ID: i.ID, Zone: i.Zone, Version: i.Version, Capacity: i.Capacity, Labels: i.Labels}
	return full.Check()
}

func (w *Workload) weight() int64 {
	if w.Weight == 0 {
		return 1
	}
	return int64(w.Weight)
}

func (w *Workload) check() error {
	if err := fault.CheckName("workload key", w.Key); err != nil {
		return err
	}
	if w.Weight < 0 || w.Weight > MaxWeight {
		return fault.Invalid(fmt.Sprintf("weight of workload %q", w.Key), w.Weight, fmt.Sprintf("must be between 0 (meaning 1) and %d", MaxWeight))
	}
	if w.Group != "" {
		if err := fault.CheckName(fmt.Sprintf("group of workload %q", w.Key), w.Group); err != nil {
			return err
		}
	}
	if w.Pin != "" {
		return fault.CheckName(fmt.Sprintf("pin of workload %q", w.Key), string(w.Pin))
	}
	return nil
}

// Phase says what an instance may be given.
type Phase string

// The phases. All but Active and Draining are "held": such an instance keeps what it has, and gets
// something new only where no active instance may run it.
const (
	// Active keeps what it has and gets its share.
	Active Phase = ""
	// Draining gets nothing and loses what it has, at once: draining, leaving, told to stop.
	Draining Phase = "draining"
	// Joining has not proved itself yet.
	Joining Phase = "joining"
	// Suspect missed heartbeats but has not expired.
	Suspect Phase = "suspect"
	// Suppressed flaps, and is trusted with nothing new for a while.
	Suppressed Phase = "suppressed"
)

// Policy restrains a plan. What depends on time (how long the membership has been quiet, which
// workload moved lately) is decided by the caller and comes in here as data.
//
// Stateless assigners (Balanced, Primary, Rendezvous) obey Hold only: where a workload belongs
// is, for them, a function of the fleet alone.
type Policy struct {
	// Hold, when not empty, places nothing and moves nothing: every workload that still has a live
	// owner stays, the others are unplaceable with this reason. For a suspected mass loss or a cold start.
	Hold string `json:"hold,omitempty"`
	// Freeze, when not empty, is the reason why nothing is levelled now: workloads that have no
	// owner, or whose owner is draining, are placed; healthy ones stay where they are.
	Freeze string `json:"freeze,omitempty"`
	// AcrossVersions levels although instances of several versions are present. By default mixed
	// versions freeze levelling, and what must be placed goes to the newest version: during a
	// rolling update each workload then moves once.
	AcrossVersions bool `json:"acrossVersions,omitempty"`
	// Budget is the most workloads that are levelled in this plan; the rest wait for the next one.
	// Zero means no limit (Freeze is for none). Moves that cannot wait are not counted.
	Budget int `json:"budget,omitempty"`
	// CoolDown lists workloads that may not be levelled now, since they moved lately.
	CoolDown []string `json:"coolDown,omitempty"`
}

func (p Policy) check() error {
	if p.Budget < 0 {
		return fault.Invalid("Policy.Budget", p.Budget, "must be 0 (no limit) or more; set Policy.Freeze to level nothing")
	}
	return nil
}
