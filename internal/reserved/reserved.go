// Package reserved lets Tenure's own engines run workloads whose keys begin with "tenure:".
//
// Those keys are refused everywhere else. Only packages of this module can import this one, so
// only they can make a Permit that permits.
package reserved

// Permit allows a reserved key. The zero value allows none.
type Permit struct{ granted bool }

// Allow returns a permit for reserved keys.
func Allow() Permit { return Permit{granted: true} }

// Granted reports whether the permit came from Allow.
func (p Permit) Granted() bool { return p.granted }
