package tenuretest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenure-go/tenure/internal/fault"
)

// Op names one method of a store, or all methods of one contract.
type Op string

// The contracts, each with all its methods and capabilities.
const (
	AllLeaseOps    Op = "lease.Manager"
	AllRegistryOps Op = "registry.Registry"
	AllStatusOps   Op = "status.Store"
	AllTargetOps   Op = "assigner.Targets"
)

// The methods of lease.Manager and its optional capabilities.
const (
	OpOpenSession  Op = "OpenSession"
	OpAcquire      Op = "Acquire"
	OpRenew        Op = "Renew"
	OpVerify       Op = "Verify"
	OpRelease      Op = "Release"
	OpCloseSession Op = "CloseSession"
	OpLeases       Op = "Leases"
	OpRevoke       Op = "Revoke"
	OpProvision    Op = "Provision"
	// OpWatch is the stream of hints. A Fail, HalfDone or Cut breaks the open streams, a Hang keeps
	// their hints back and breaks them when it is lifted. Late and LateAnswer do not touch it.
	OpWatch Op = "Watch"
)

// The methods of registry.Registry.
const (
	OpHeartbeat  Op = "Heartbeat"
	OpMembers    Op = "Members"
	OpBeginDrain Op = "BeginDrain"
	OpLeave      Op = "Leave"
)

// The methods of status.Store.
const (
	OpPutStatus   Op = "PutStatus"
	OpStatuses    Op = "Statuses"
	OpAllStatuses Op = "AllStatuses"
)

// The methods of assigner.Targets, where the store has it.
const (
	OpPutTargets Op = "PutTargets"
	OpTargetsOf  Op = "TargetsOf"
	OpAllTargets Op = "AllTargets"
)

// ops is every Op there is, for the check of a Fault.
func ops() []Op {
	return []Op{
		AllLeaseOps, OpOpenSession, OpAcquire, OpRenew, OpVerify, OpRelease, OpCloseSession, OpLeases, OpRevoke, OpProvision, OpWatch,
		AllRegistryOps, OpHeartbeat, OpMembers, OpBeginDrain, OpLeave,
		AllStatusOps, OpPutStatus, OpStatuses, OpAllStatuses,
		AllTargetOps, OpPutTargets, OpTargetsOf, OpAllTargets,
	}
}

// check refuses what is no Op.
func (o Op) check(field string) error {
	if slices.Contains(ops(), o) {
		return nil
	}
	var names []string
	for _, known := range ops() {
		names = append(names, string(known))
	}
	return fault.Invalid(field, string(o), fmt.Sprintf("must be one of %s", strings.Join(names, ", ")))
}
