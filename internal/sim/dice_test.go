package sim

import "time"

// dice answers the same for the same question, whatever was asked before. So what the network does to one call does
// not depend on how many others there were.
type dice uint64

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// of returns the dice of a thing with a name.
func (d dice) of(name string) dice {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return dice(mix(uint64(d) ^ h))
}

// nth returns the dice of the nth thing of a kind.
func (d dice) nth(n int) dice { return dice(mix(uint64(d) + uint64(n))) }

// float is uniform in [0, 1).
func (d dice) float() float64 { return float64(mix(uint64(d))>>11) / (1 << 53) }

// chance is true with the probability p.
func (d dice) chance(p float64) bool { return p > 0 && d.float() < p }

// between is uniform, to the nanosecond.
func (d dice) between(a, b time.Duration) time.Duration {
	return a + time.Duration(d.float()*float64(b-a))
}
