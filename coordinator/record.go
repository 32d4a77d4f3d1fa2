package coordinator

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/instance"
)

// record is what a planner leaves to its successor in the head of its plan: whom it knew, and what
// it moved lately. A successor that cannot read it plans without.
type record struct {
	members []recorded
	moves   []moved // newest first
}

// recorded is a member as the planner last saw it.
type recorded struct {
	id    instance.ID
	going bool // it was draining or leaving
}

// moved is a workload and how long before the writing its move was decided.
type moved struct {
	key string
	ago time.Duration
}

// The encoding: a version byte; the number of members, and of each a flag byte and its ID; the number
// of moves, and of each its age in ms and its key. Numbers and lengths are unsigned varints.
const (
	recordVersion = 1
	// mostRecord bounds the encoding well below what a store carries. Members come first, then the
	// newest moves; what finds no room is forgotten.
	mostRecord = 256 << 10
)

var errRecord = errors.New("tenure: the planner's record cannot be read")

func (r record) encode() []byte {
	b := []byte{recordVersion}
	// Counts are written once it is known how many find room.
	section := func(n int, item func(b []byte, i int) []byte) {
		var body []byte
		fit := 0
		for ; fit < n; fit++ {
			longer := item(body, fit)
			if len(b)+len(longer)+binary.MaxVarintLen64 > mostRecord {
				break
			}
			body = longer
		}
		b = append(binary.AppendUvarint(b, uint64(fit)), body...)
	}
	section(len(r.members), func(b []byte, i int) []byte {
		flag := byte(0)
		if r.members[i].going {
			flag = 1
		}
		return appendText(append(b, flag), string(r.members[i].id))
	})
	section(len(r.moves), func(b []byte, i int) []byte {
		return appendText(binary.AppendUvarint(b, uint64(max(r.moves[i].ago.Milliseconds(), 0))), r.moves[i].key)
	})
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeRecord reads what encode wrote. Bytes of another version, or that are no record, are an error.
func decodeRecord(b []byte) (r record, err error) {
	if len(b) == 0 {
		return r, nil
	}
	d := decoder{rest: b[1:]}
	if b[0] != recordVersion || len(b) > mostRecord {
		return r, errRecord
	}
	for range d.count() {
		flag := d.bytes(1)
		m := recorded{id: instance.ID(d.text()), going: len(flag) == 1 && flag[0] == 1}
		r.members = append(r.members, m)
	}
	for range d.count() {
		ago := min(d.number(), uint64(longestWait/time.Millisecond))
		r.moves = append(r.moves, moved{ago: time.Duration(ago) * time.Millisecond, key: d.text()})
	}
	if d.bad || len(d.rest) > 0 {
		return record{}, errRecord
	}
	return r, nil
}

// decoder reads on until something is wrong, and answers nothing from then on.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// count is a number of items, each of which takes at least two bytes.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.rest)/2) {
		d.bad, d.rest = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes(d.number())) }

// newest sorts moves, the newest first, equal ones by key, so that equal records have equal bytes.
func newest(moves []moved) []moved {
	slices.SortFunc(moves, func(a, b moved) int { return cmp.Or(cmp.Compare(a.ago, b.ago), strings.Compare(a.key, b.key)) })
	return moves
}
