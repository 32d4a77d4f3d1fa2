package assigner

import (
	"math/bits"
	"sync"
)

// Weighted rendezvous needs a logarithm, and every machine of a fleet must get the same one. The
// float functions do not promise that (compilers fuse operations on some architectures), so this
// is one of integers: a table of 4096 steps, with straight lines between them.

const (
	logSteps = 12 // 2^12 steps between 1 and 2
	logBits  = 48 // fractional bits of a result
)

// logTable holds log2(1 + k/4096) for k from 0 to 4096. It never changes once it is made.
var logTable = sync.OnceValue(func() *[1<<logSteps + 1]uint64 {
	t := new([1<<logSteps + 1]uint64)
	for k := range t {
		t[k] = slowLog2(1<<63 + uint64(k)<<(63-logSteps))
	}
	t[1<<logSteps] = 1 << logBits
	return t
})

// slowLog2 returns the logarithm of m/2^63, for m from 2^63 up, digit by digit: squaring a number
// doubles its logarithm, whose whole part is then the next digit.
func slowLog2(m uint64) (log uint64) {
	for range logBits {
		hi, lo := bits.Mul64(m, m)
		log <<= 1
		if hi >= 1<<63 {
			m = hi
			log |= 1
		} else {
			m = hi<<1 | lo>>63
		}
	}
	return log
}

// distance returns -log2(h/2^64) with 48 fractional bits: how far a hash is from the best one. For
// evenly spread hashes it is exponentially distributed, so the smallest of distance/capacity falls
// to each instance in proportion to its capacity. It never grows when h does.
func distance(h uint64, table *[1<<logSteps + 1]uint64) uint64 {
	h = max(h, 1)
	zeros := bits.LeadingZeros64(h)
	mantissa := h << zeros << 1 // what follows the leading 1
	k := mantissa >> (64 - logSteps)
	part, _ := bits.Mul64(table[k+1]-table[k], mantissa<<logSteps)
	return 64<<logBits - (uint64(63-zeros)<<logBits + table[k] + part)
}
