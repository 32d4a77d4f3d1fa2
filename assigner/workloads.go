package assigner

import (
	"slices"

	"github.com/tenure-go/tenure/instance"
)

// described is what the index keeps of a workload.
type described struct {
	key          string
	hash, static uint64
	weight       int64
	sel, group   int32
}

// setWorkloads fills the index and returns the positions in list in the order of keys. It reads
// the list once from front to back, which is the order of memory, and sorts what it has learnt.
func (x *Index) setWorkloads(list []Workload) ([]int32, error) {
	selectors, groups, pinned := numbering{}, numbering{}, false
	all := make([]described, len(list))
	for i := range list {
		w := &list[i]
		if err := w.check(); err != nil {
			return nil, err
		}
		d := described{key: w.Key, hash: Hash(w.Key), weight: w.weight(), sel: selectors.of(string(w.Requires)), group: none}
		pinned = pinned || w.Pin != ""
		if w.Group != "" {
			d.group = groups.of(w.Group)
		}
		d.static = w.digest(d.hash)
		all[i] = d
	}
	order, err := sortedByKey(list)
	if err != nil {
		return nil, err
	}
	selNumber, groupNumber := selectors.sort(), groups.sort()
	for _, s := range selectors.list {
		parsed, err := Selector(s).parse()
		if err != nil {
			return nil, err
		}
		x.selectors, x.parsed = append(x.selectors, Selector(s)), append(x.parsed, parsed)
	}
	x.groups = len(groups.list)
	x.allocate(len(list))
	for at, from := range order {
		d := &all[from]
		x.key[at], x.hash[at], x.static[at], x.weight[at] = d.key, d.hash, d.static, d.weight
		x.sel[at], x.group[at] = selNumber[d.sel], none
		if d.group != none {
			x.group[at] = groupNumber[d.group]
		}
		if pinned && list[from].Pin != "" {
			x.pinOf[int32(at)] = list[from].Pin
		}
	}
	return order, nil
}

func (x *Index) allocate(n int) {
	x.key, x.hash, x.static, x.weight = make([]string, n), make([]uint64, n), make([]uint64, n), make([]int64, n)
	x.sel, x.group, x.owner, x.flight = make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	x.classOf, x.cool, x.pinOf = make([]int32, n), make([]bool, n), map[int32]instance.ID{}
}

// numbering gives strings numbers, in the order in which they are met.
type numbering struct {
	list   []string
	number map[string]int32
	last   string // most lists repeat themselves
	lastAt int32
}

func (n *numbering) of(s string) int32 {
	if len(n.list) > 0 && n.last == s {
		return n.lastAt
	}
	at, ok := n.number[s]
	if !ok {
		if n.number == nil {
			n.number = map[string]int32{}
		}
		at = int32(len(n.list))
		n.list, n.number[s] = append(n.list, s), at
	}
	n.last, n.lastAt = s, at
	return at
}

// sort orders the strings and returns what has become of each number: the new ones do not depend
// on the order in which the strings were met.
func (n *numbering) sort() []int32 {
	slices.Sort(n.list)
	moved := make([]int32, len(n.list))
	for at, s := range n.list {
		moved[n.number[s]] = int32(at)
	}
	return moved
}
