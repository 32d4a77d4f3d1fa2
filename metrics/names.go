package metrics

import "github.com/tenure-go/tenure/lease"

// The names.
const (
	isLeader     = "tenure.is_leader"
	termToken    = "tenure.term.token"
	termStart    = "tenure.term.start_time"
	keysUnlisted = "tenure.keys.unlisted"
	held         = "tenure.held"
	sessionLeft  = "tenure.session.left"
	termsStarted = "tenure.terms.started"
	termsEnded   = "tenure.terms.ended"
	renewMargin  = "tenure.renew.margin_left_ratio"

	calls        = "tenure.store.calls"
	callDuration = "tenure.store.call.duration"
	incarnation  = "tenure.store.incarnation"

	byState    = "tenure.workloads"
	stuck      = "tenure.stuck.workloads"
	workEnded  = "tenure.work.ended"
	workForced = "tenure.work.forced"

	handoverDuration = "tenure.handover.duration"
	failoverDuration = "tenure.failover.duration"
	unownedDuration  = "tenure.unowned.duration"

	members       = "tenure.members"
	catalogue     = "tenure.catalogue.workloads"
	catalogueHeld = "tenure.catalogue.held"
	assigned      = "tenure.assigned.workloads"
	holding       = "tenure.planner.holding"
	decisions     = "tenure.planner.decisions"
	unplaceable   = "tenure.unplaceable.workloads"
	plans         = "tenure.plans"
	planDuration  = "tenure.plan.duration"
	planMoves     = "tenure.plan.moves"
	planMinimum   = "tenure.plan.moves_minimum"

	drainBegun   = "tenure.draining"
	drainElapsed = "tenure.drain.elapsed"
	drainRunning = "tenure.drain.running"
)

// Values that several labels have.
const (
	handover = "handover"
	failover = "failover"
	other    = "other"
	released = "released"
)

// reasons are why a term ends.
func reasons() []string {
	return []string{
		released, string(lease.ReasonTaken), string(lease.ReasonExpired), string(lease.ReasonUnreachable),
		string(lease.ReasonRevoked), string(lease.ReasonForgotten), string(lease.ReasonStopped), other,
	}
}
