// Package coordinator spreads a catalogue of workloads over the live instances of a fleet.
package coordinator
