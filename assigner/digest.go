package assigner

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Digest condenses all inputs of a plan into 64 bits, whatever their order was. It is shown, and
// encoded as JSON, in 16 hexadecimal digits. Different inputs may have the same digest with
// probability 2^-64; it detects disagreement, it proves nothing.
type Digest uint64

// String returns 16 hexadecimal digits.
func (d Digest) String() string { return fmt.Sprintf("%016x", uint64(d)) }

// MarshalText encodes the digest as 16 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText decodes what MarshalText encoded.
func (d *Digest) UnmarshalText(text []byte) error {
	var b [8]byte
	if n, err := hex.Decode(b[:], text[:min(len(text), 16)]); err != nil || n != 8 || len(text) != 16 {
		return fmt.Errorf("assigner: digest %q: must be 16 hexadecimal digits", text)
	}
	*d = Digest(binary.BigEndian.Uint64(b[:]))
	return nil
}

// weightSalt is odd, so that no two weights look alike.
const weightSalt = 0x9e3779b97f4a7c15

// digest hashes each item with all its fields and adds the items up, so that no order matters.
func (x *Index) digest() Digest {
	p := x.policy
	sum := fold(1, Hash(p.Hold), Hash(p.Freeze), uint64(p.Budget), bit(p.AcrossVersions))
	for w, static := range x.static {
		owner := uint64(0)
		if x.owner[w] != none {
			owner = x.nameHash[x.owner[w]]
		}
		h := Score(static^uint64(x.weight[w])*weightSalt, owner)
		if x.flight[w] != none || x.cool[w] {
			h = x.stateDigest(w, h)
		}
		sum += h
	}
	for i := range x.inst {
		sum += x.inst[i].digest(x.instHash[i])
	}
	return Digest(finalise(sum))
}

func (x *Index) stateDigest(w int, h uint64) uint64 {
	target := uint64(0)
	if x.flight[w] != none {
		target = x.nameHash[x.flight[w]]
	}
	return fold(h, target, bit(x.cool[w]))
}

// digest covers what an Index does not change: all but the weight.
func (w *Workload) digest(key uint64) uint64 {
	if w.Group == "" && w.Pin == "" && w.Requires == "" {
		return key
	}
	return fold(key, Hash(w.Group), Hash(string(w.Pin)), Hash(string(w.Requires)))
}

func (i Instance) digest(id uint64) uint64 {
	labels := uint64(0)
	for k, v := range i.Labels {
		labels += fold(Hash(k), Hash(v))
	}
	return fold(id, uint64(i.JoinedAt.Unix()), uint64(i.JoinedAt.Nanosecond()), uint64(i.capacity()), Hash(i.Zone), Hash(i.Version), Hash(string(i.Phase)), labels)
}

// fold chains numbers, so that their order counts.
func fold(numbers ...uint64) uint64 {
	h := uint64(len(numbers))
	for _, n := range numbers {
		h = Score(h, n)
	}
	return h
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
