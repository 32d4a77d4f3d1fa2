package coordinator

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// Config holds what is optional. The zero value is the documented defaults.
type Config struct {
	// Instance describes this process to the fleet. An empty ID means instance.Process().
	Instance instance.Instance
	// Timing; see its fields for the defaults.
	Timing lease.Timing
	// Assigner decides which instance should try which workload. All instances of a fleet must use
	// the same. Default assigner.Sticky, or assigner.Balanced where the lease manager cannot list
	// who owns what (lease.Lister), which Sticky and Weighted need.
	Assigner assigner.Assigner
	// Planning says who makes the plans: by default the fleet's planner where the assigner heeds
	// owners and the stores can list leases and carry targets, and otherwise everyone.
	Planning Planning
	// Targets is where the planner writes its plans. Default: the first of the store's parts that
	// implements assigner.Targets. All instances must use the same.
	Targets assigner.Targets
	// Planner restrains the fleet's planner, where there is one.
	Planner PlannerConfig
	// Policy is handed to the assigner with every plan. Freeze is set by the coordinator besides,
	// while the fleet has not settled. With a planner, Budget is how many healthy workloads may be on their
	// way at a time in the whole fleet, and zero means a tenth of the workloads, at least 100.
	Policy assigner.Policy
	// Settle is for how long the active members and the catalogue must have been unchanged before
	// healthy workloads move; what has no owner is placed at once. A fleet that is never quiet moves
	// them after five times as long. Default one HeartbeatInterval; a negative value means at once.
	Settle time.Duration
	// Restart says what follows when work ends by itself; default runner.OnFailure. Work that is
	// finished is not started again here, but is on another instance once the plan moves it there.
	Restart runner.Restart
	// Backoff spaces the terms of work that keeps failing.
	Backoff runner.Backoff
	// OnStuck is called when a worker has ignored its cancellation for HardStop; see runner.Config.
	OnStuck func(key string, term *runner.Term)
	// Logger receives what happens; nil means silent.
	Logger *slog.Logger
	// Observers are told of events: each may implement BeatObserver, PlanObserver, PlannerObserver and
	// AssignmentObserver, and the observers of the packages runner and lease. The planner's lease is
	// one of this instance's too, so those of runner and lease hear of the key "tenure:planner".
	Observers []any
	// VerifySlice is how many leases are verified each renew interval, in rotation; default 100.
	VerifySlice int
	// Clock is for simulations inside this module; nil means the machine's clock.
	Clock clock.Clock
}

// resolve fills in defaults and checks what the packages below do not check at construction.
func (c Config) resolve() (Config, error) {
	if c.Instance.ID == "" {
		c.Instance.ID = instance.Process()
	}
	c.Instance = c.Instance.Clone()
	if err := c.Instance.Check(); err != nil {
		return c, fmt.Errorf("Config.Instance: %w", err)
	}
	var err error
	if c.Timing, err = c.Timing.Resolve(); err != nil {
		return c, err
	}
	if c.Settle == 0 {
		c.Settle = c.Timing.HeartbeatInterval
	}
	c.Settle = max(c.Settle, 0)
	if c.Settle > fault.MaxTTL {
		return c, fault.Invalid("Config.Settle", c.Settle, fmt.Sprintf("must be at most %v", fault.MaxTTL))
	}
	if c.Policy.Budget < 0 {
		return c, fault.Invalid("Config.Policy.Budget", c.Policy.Budget, "must be 0 (no limit) or more")
	}
	if c.Planner, err = c.Planner.resolve(c.Timing); err != nil {
		return c, err
	}
	c.Clock = clock.Or(c.Clock)
	return c, nil
}
