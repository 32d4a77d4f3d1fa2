package dashboard

import (
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/instance"
)

// shift is the last change of the membership and what followed.
type shift struct {
	what   string
	at     time.Time
	before map[instance.ID]int // planned workloads of each owner when it began
	moves  int
	done   bool
}

// held counts the planned workloads of each owner.
func held(rows []Row) map[instance.ID]int {
	out := map[instance.ID]int{}
	for i := range rows {
		if !rows[i].Alone && rows[i].Owner != "" {
			out[rows[i].Owner]++
		}
	}
	return out
}

// leastMoves is how many of n workloads must change their owner until the instances have even shares,
// given how many each has: all but what each may keep. The larger shares go to those who have most.
func leastMoves(n int, have []int) int {
	if len(have) == 0 || n == 0 {
		return 0
	}
	have = slices.Clone(have)
	slices.Sort(have)
	slices.Reverse(have)
	share, larger := n/len(have), n%len(have)
	kept := 0
	for i, c := range have {
		most := share
		if i < larger {
			most++
		}
		kept += min(c, most)
	}
	return n - kept
}

// weigh describes the load, and follows the last change of the membership.
func (h *past) weigh(r *reading, rows []Row, members []Member, prior map[instance.ID]int, changed []string, moves int) Balance {
	now := held(rows)
	b := Balance{Comparable: true}
	planned := 0
	for i := range rows {
		if !rows[i].Alone {
			planned++
		}
	}
	for _, w := range r.catalogue {
		if !w.Alone && (w.Requires != "" || w.Pin != "") {
			b.Comparable = false
		}
	}
	active := activeOf(members)
	for i, m := range active {
		n := now[m.ID]
		if i == 0 {
			b.Fewest = n
		}
		b.Most, b.Fewest = max(b.Most, n), min(b.Fewest, n)
		b.Comparable = b.Comparable && max(m.Capacity, 1) == max(active[0].Capacity, 1)
	}
	if len(active) > 0 {
		b.Even = float64(planned) / float64(len(active))
		b.Missing = leastMoves(planned, countsOf(active, now))
	}
	settled := len(active) > 0 && b.Missing == 0
	if len(changed) > 0 && h.looked {
		if h.change == nil || h.change.done {
			h.change = &shift{before: prior}
		} else {
			changed = append([]string{h.change.what}, changed...)
		}
		h.change.what, h.change.at, h.change.done = listChanges(changed), r.at, false
	}
	if c := h.change; c != nil {
		c.moves += moves
		c.done = settled
		b.Change = &Change{
			What: c.what, At: c.at, Moves: c.moves, Settled: settled, Least: leastMoves(planned, countsOf(active, c.before)),
		}
	}
	return b
}

// listChanges keeps the newest few of many.
func listChanges(all []string) string {
	const most = 3
	text := strings.Split(strings.Join(all, "; "), "; ")
	if len(text) > most {
		text = append([]string{"…"}, text[len(text)-most:]...)
	}
	return strings.Join(text, "; ")
}

func activeOf(members []Member) []*Member {
	var out []*Member
	for i := range members {
		if m := &members[i]; !m.Draining && !m.Leaving && !m.Stranger {
			out = append(out, m)
		}
	}
	return out
}

func countsOf(active []*Member, have map[instance.ID]int) []int {
	out := make([]int, len(active))
	for i, m := range active {
		out[i] = have[m.ID]
	}
	return out
}
