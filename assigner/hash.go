package assigner

import "math/bits"

// Hash is the one hash of this package: FNV-1a over the bytes, the length folded in, and a
// finaliser that spreads every input bit over all 64. It is part of the wire format: every
// instance of a fleet, whatever its version, must compute the same number, so it never changes.
// testdata/hash.golden holds vectors for implementations in other languages.
//
// The finaliser is what makes it fit for placing: FNV-1a alone leaves short keys such as
// "stream-17" so close together that one instance of ten gets more than twice its share.
func Hash(s string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return finalise(h ^ uint64(len(s)))
}

// Score rates a pair of hashes, such as a workload's and an instance's: each is hashed by itself,
// so "node1"+"1" and "node"+"11" are different pairs, and the two are folded by a 128-bit product.
// It is part of the wire format, as Hash is.
func Score(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xa0761d6478bd642f)
	return finalise(hi ^ lo)
}

// finalise is the finaliser of splitmix64 (Stafford's mix 13): a bijection that flips each output
// bit with probability one half for each flipped input bit.
func finalise(h uint64) uint64 {
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}
