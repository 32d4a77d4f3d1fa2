package coordinator

import (
	"fmt"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
)

// Planning says who makes the plans of a fleet. All its instances must use the same.
type Planning string

// The ways of planning.
const (
	// PlanningAuto is PlanningPlanner where the assigner heeds owners and the stores can list leases
	// and carry targets, otherwise PlanningEveryone.
	PlanningAuto Planning = ""
	// PlanningPlanner: one instance, the planner, plans for the fleet and writes targets, and everyone obeys.
	PlanningPlanner Planning = "planner"
	// PlanningEveryone: every instance plans for itself.
	PlanningEveryone Planning = "everyone"
)

// OwnerAware is implemented by assigners whose targets depend on Input.Owners, as those of package
// assigner that need it do: the coordinator then reads who owns what before it plans.
type OwnerAware interface {
	assigner.Assigner
	// HeedsOwners reports whether the targets depend on the owners.
	HeedsOwners() bool
}

// heedsOwners reports whether an assigner's targets depend on who holds what.
func heedsOwners(a assigner.Assigner) bool {
	v, ok := a.(OwnerAware)
	return ok && v.HeedsOwners()
}

// mode is how a coordinator comes to its share of the work.
type mode struct {
	planning Planning
	why      string // for people
	assigner assigner.Assigner
	lister   lease.Lister     // nil: owners are not asked for
	targets  assigner.Targets // nil unless there is a planner
}

// choose fills in the assigner and decides who plans.
func choose(cfg Config, p Separate) (mode, error) {
	lister, lists := p.Manager.(lease.Lister)
	m := mode{assigner: cfg.Assigner, lister: lister, targets: cfg.Targets}
	if m.targets == nil {
		m.targets = p.targets()
	}
	if m.assigner == nil && lists {
		m.assigner = assigner.Sticky{}
	}
	if m.assigner == nil {
		m.assigner = assigner.Balanced{}
	}
	if heedsOwners(m.assigner) && !lists {
		return m, fault.Invalid("Config.Assigner", fmt.Sprintf("%T", m.assigner),
			"needs to know who owns what, and this lease manager cannot list its leases (lease.Lister); choose assigner.Rendezvous or assigner.Balanced")
	}
	return m.decide(cfg.Planning)
}

func (m mode) decide(want Planning) (mode, error) {
	heeds := heedsOwners(m.assigner)
	switch want {
	case PlanningPlanner:
		if m.targets == nil {
			return m, fault.Invalid("Config.Planning", string(want),
				"needs a store that carries targets, and none of these does (assigner.Targets; a wrapper must forward it); set Config.Targets, or choose PlanningEveryone")
		}
		m.planning, m.why = PlanningPlanner, "Config.Planning says so"
	case PlanningEveryone:
		m.planning, m.why = PlanningEveryone, "Config.Planning says so"
	case PlanningAuto:
		switch {
		case !heeds:
			m.planning, m.why = PlanningEveryone, fmt.Sprintf("%T does not depend on who owns what", m.assigner)
		case m.targets == nil:
			m.planning, m.why = PlanningEveryone, "the store carries no targets (assigner.Targets)"
		default:
			m.planning, m.why = PlanningPlanner, fmt.Sprintf("%T depends on who owns what, and the store carries targets", m.assigner)
		}
	default:
		return m, fault.Invalid("Config.Planning", string(want), "must be empty, planner or everyone")
	}
	if m.planning == PlanningEveryone {
		m.targets = nil
		if !heeds {
			m.lister = nil
		}
	}
	return m, nil
}

// PlannerConfig restrains the fleet's planner. The zero value is the documented defaults. Any
// instance may become the planner, so all must use the same. Nothing here delays a drain: what a
// draining or leaving instance has, and what nobody has, is given out at once and without limit,
// but for LossPercent and ExpectedInstances.
type PlannerConfig struct {
	// Debounce is how long the planner waits after a change that leaves nothing without an owner (a
	// join, another weight) for more of the kind. Default 1 s, or half a HeartbeatInterval where
	// that is shorter; a negative value means not at all.
	Debounce time.Duration
	// DebounceMost is how long such changes are waited for in all; default five times Debounce.
	DebounceMost time.Duration
	// MovesIn and MovesOut cap how many healthy workloads are on their way to, and from, one instance
	// at a time. Default 100; a negative value means no cap. See Config.Policy.Budget for the whole fleet.
	MovesIn, MovesOut int
	// CoolDown is for how long a workload that has moved, for whatever reason, is not moved again
	// while it is healthy. Default three times LeaseTTL; a negative value means not at all.
	CoolDown time.Duration
	// LossPercent and LossLeast guard against a mass loss: where more than this share of the members,
	// and at least so many, vanish within one HeartbeatTTL without having said that they leave,
	// nothing is placed and nothing moves for LossWait, since a store that was away is likelier than
	// so many deaths. Defaults 30 and 3; a negative LossPercent means no guard.
	LossPercent, LossLeast int
	// LossWait defaults to one HeartbeatTTL.
	LossWait time.Duration
	// ExpectedInstances is how many instances a fleet that starts from nothing waits for before
	// anything is placed, so that the first does not take everything. Default 0: it waits for nobody.
	ExpectedInstances int
	// ExpectedWait bounds that wait; default one HeartbeatTTL.
	ExpectedWait time.Duration
}

const (
	defaultMoves       = 100
	defaultLossPercent = 30
	defaultLossLeast   = 3
	longestWait        = 24 * time.Hour
)

// resolve fills in defaults, which follow the timing, and checks.
func (c PlannerConfig) resolve(t lease.Timing) (PlannerConfig, error) {
	for _, f := range []struct {
		name     string
		value    *time.Duration
		standard time.Duration
		negative bool // a negative value means none
	}{
		{"Debounce", &c.Debounce, min(time.Second, t.HeartbeatInterval/2), true},
		{"DebounceMost", &c.DebounceMost, 0, false},
		{"CoolDown", &c.CoolDown, 3 * t.LeaseTTL, true},
		{"LossWait", &c.LossWait, t.HeartbeatTTL, false},
		{"ExpectedWait", &c.ExpectedWait, t.HeartbeatTTL, false},
	} {
		switch {
		case *f.value < 0 && f.negative:
			*f.value = 0
		case *f.value < 0:
			return c, fault.Invalid("Config.Planner."+f.name, *f.value, "must not be negative; zero means the default")
		case *f.value > longestWait:
			return c, fault.Invalid("Config.Planner."+f.name, *f.value, fmt.Sprintf("must be at most %v", longestWait))
		case *f.value == 0:
			*f.value = f.standard
		}
	}
	if c.DebounceMost == 0 {
		c.DebounceMost = 5 * c.Debounce
	}
	if c.DebounceMost < c.Debounce {
		return c, fault.Invalid("Config.Planner.DebounceMost", c.DebounceMost, fmt.Sprintf("must be at least Debounce = %v", c.Debounce))
	}
	return c.resolveCounts()
}

func (c PlannerConfig) resolveCounts() (PlannerConfig, error) {
	for _, n := range []*int{&c.MovesIn, &c.MovesOut} {
		if *n == 0 {
			*n = defaultMoves
		}
	}
	if c.LossPercent > 100 {
		return c, fault.Invalid("Config.Planner.LossPercent", c.LossPercent, "must be at most 100; zero means 30, a negative value no guard")
	}
	if c.LossPercent == 0 {
		c.LossPercent = defaultLossPercent
	}
	if c.LossLeast < 0 {
		return c, fault.Invalid("Config.Planner.LossLeast", c.LossLeast, "must not be negative; zero means 3")
	}
	if c.LossLeast == 0 {
		c.LossLeast = defaultLossLeast
	}
	if c.ExpectedInstances < 0 {
		return c, fault.Invalid("Config.Planner.ExpectedInstances", c.ExpectedInstances, "must not be negative; zero means to wait for nobody")
	}
	return c, nil
}

// budget returns how many healthy workloads of n may be on their way at a time.
func budget(policy assigner.Policy, n int) int {
	if policy.Budget > 0 {
		return policy.Budget
	}
	return max(defaultMoves, n/10)
}
