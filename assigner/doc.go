// Package assigner decides which instance should run which workload: pure functions from the
// fleet's membership to a plan.
package assigner
