package tenure

import (
	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/resolver"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/status"
)

// The contracts that a store implements, under their full names.
type (
	// LeaseManager grants exclusive, fenced ownership of keys; see [lease.Manager].
	LeaseManager = lease.Manager
	// InstanceRegistry knows which instances live; see [registry.Registry].
	InstanceRegistry = registry.Registry
	// WorkloadStatusStore publishes what state each workload is in; see [status.Store].
	WorkloadStatusStore = status.Store
	// Store is all three in one, as the stores of this project are; see [coordinator.Store].
	Store = coordinator.Store
)

// The engines and the strategy.
type (
	// Assigner decides which instance should try which workload; see [assigner.Assigner].
	Assigner = assigner.Assigner
	// LeasedWorkerRunner runs one workload on at most one instance; see [runner.Runner].
	LeasedWorkerRunner = runner.Runner
	// WorkloadCoordinator runs an instance's share of many workloads; see [coordinator.Coordinator].
	WorkloadCoordinator[W any] = coordinator.Coordinator[W]
	// Resolver finds the owner of a workload and its address; see [resolver.Resolver].
	Resolver = resolver.Resolver
)

// What every program meets.
type (
	// Term is one stretch of ownership as the work sees it; see [runner.Term].
	Term = runner.Term
	// Timing holds every duration that the engines live by; see [lease.Timing].
	Timing = lease.Timing
	// Instance describes one running process; see [instance.Instance].
	Instance = instance.Instance
	// Workload is one unit of work of a catalogue; see [coordinator.Workload].
	Workload[W any] = coordinator.Workload[W]
)

// Errors that work and callers test for with errors.Is.
var (
	// ErrLost: the term is over, stop at once; see [lease.ErrLost].
	ErrLost = lease.ErrLost
	// ErrUnavailable: the outcome of a store call is unknown; see [lease.ErrUnavailable].
	ErrUnavailable = lease.ErrUnavailable
	// ErrInvalid: an argument was refused before anything was done; see [lease.ErrInvalid].
	ErrInvalid = lease.ErrInvalid
	// ErrStuck: work ignored its cancellation; see [runner.ErrStuck].
	ErrStuck = runner.ErrStuck
)
