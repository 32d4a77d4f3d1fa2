package storetest

import "slices"

// catalogue returns every check, in the order in which they are listed.
func catalogue() []check {
	return slices.Concat(
		ownership(), strangers(), sessions(), tokens(), expiry(), boundary(), batches(),
		members(), membership(), statuses(), keyChecks(),
		targets(), ticks(), contexts(), lifecycle(), hints(), revocation(), incarnations(), soak(),
	)
}
