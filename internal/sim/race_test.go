//go:build race

package sim

// racing: the race detector makes the scheduler random.
const racing = true
