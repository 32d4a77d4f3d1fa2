package dashboard

import (
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/instance"
)

// shift is the last change of the membership and what followed.
type shift struct {
	what   string // empty: it began before the first look
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
	switch {
	case !h.looked && b.Missing > 0: // what moves until the fleet is even belongs to no change that follows
		h.change = &shift{at: r.at, before: now}
	case len(changed) > 0 && h.looked:
		h.shifted(r, changed, prior)
	}
	h.account(r, prior, moves, len(active) > 0 && b.Missing == 0)
	if c := h.change; c != nil && c.what != "" {
		b.Change = &Change{
			What: c.what, At: c.at, Moves: c.moves, Settled: c.done, Least: leastMoves(planned, countsOf(active, c.before)),
		}
	}
	return b
}

// shifted begins a new change, or adds to one that has not settled: what follows cannot be told apart.
func (h *past) shifted(r *reading, changed []string, prior map[instance.ID]int) {
	switch c := h.change; {
	case c != nil && !c.done:
		if c.what != "" {
			changed = append([]string{c.what}, changed...)
		}
		c.what, c.at = listChanges(changed), r.at
	case h.strayed != nil:
		// The leases of a dead instance may be taken before its membership has ended.
		h.change = &shift{what: listChanges(changed), at: r.at, before: h.strayed, moves: h.strays}
	default:
		h.change = &shift{what: listChanges(changed), at: r.at, before: prior}
	}
	h.strayed, h.strays = nil, 0
}

// account counts moves for the change under way, and sets those aside that come before their change is seen.
func (h *past) account(r *reading, prior map[instance.ID]int, moves int, settled bool) {
	switch c := h.change; {
	case c != nil && !c.done:
		c.moves += moves
		c.done = settled
	case moves > 0:
		if h.strayed == nil {
			h.strayed = prior
		}
		h.strays += moves
		h.strayAt = r.at
	case r.at.Sub(h.strayAt) > strayFor:
		h.strayed, h.strays = nil, 0
	}
}

// strayFor is how long moves wait for the change that they belong to: those of a step-down or a revocation
// belong to none.
const strayFor = 10 * time.Second

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
