package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/instance"
)

// hand is a group of workloads that went the same way between two looks.
type hand struct {
	kind     EventKind
	from, to instance.ID
}

// unownedNews is how long a workload is without an owner before the timeline says so.
const unownedNews = time.Second

// follow compares the rows with those of the look before, fills in what only a comparison tells, and
// returns how many planned workloads got another owner.
func (h *past) follow(r *reading, rows []Row, names map[instance.ID]string) (moves int) {
	groups := map[hand][]*Row{}
	h.round++
	var fresh []trace // those of a whole fleet at once, at the first look
	for i := range rows {
		row := &rows[i]
		t := h.traces[row.Key]
		if t == nil {
			if len(fresh) == 0 {
				fresh = make([]trace, min(len(rows)-i, 256))
			}
			t, fresh = &fresh[0], fresh[1:]
			h.traces[row.Key] = t
		}
		t.round = h.round
		if g, changed := h.step(r, row, t); changed {
			groups[g] = append(groups[g], row)
			if (g.kind == EventMoved || g.kind == EventFailover) && !row.Alone {
				moves++
			}
		}
		h.overdue(r, row, t)
		row.Moves, row.Restarts, row.Last = t.moves, t.again, t.last
		if row.State == Unowned {
			row.Since = t.gone
		}
	}
	for key, t := range h.traces {
		if t.round != h.round {
			delete(h.traces, key)
		}
	}
	if h.looked {
		h.tell(r, groups, names)
	}
	return moves
}

// overdue marks what has been winding down for longer than any worker may take.
func (h *past) overdue(r *reading, row *Row, t *trace) {
	switch {
	case row.State != Transferring:
		t.slow = time.Time{}
	case t.slow.IsZero():
		t.slow = r.at
	case h.windDown > 0 && r.at.Sub(t.slow) > h.windDown:
		row.State = Stuck
	}
}

// step takes one workload from look to look.
func (h *past) step(r *reading, row *Row, t *trace) (hand, bool) {
	switch {
	case row.Owner == "":
		if t.gone.IsZero() {
			t.gone, t.told = r.at, false
		}
		// A handover passes through a moment without an owner: only what lasts is news.
		if t.told || row.State != Unowned || t.owner == "" || r.at.Sub(t.gone) < unownedNews {
			return hand{}, false
		}
		t.told = true
		return hand{kind: EventUnowned, from: t.owner}, true
	case row.Token == t.token && row.Owner == t.owner:
		t.seen, t.gone = r.at, time.Time{}
		if t.winding.IsZero() {
			t.winding = row.winding
		}
		return hand{}, false
	}
	before := *t
	t.owner, t.token, t.seen, t.gone, t.winding, t.slow = row.Owner, row.Token, r.at, time.Time{}, row.winding, time.Time{}
	g := hand{EventMoved, before.owner, row.Owner}
	switch {
	case !h.looked:
		return g, false
	case before.owner == row.Owner:
		t.again++
		g.kind = EventRestart
		return g, true
	case before.owner == "":
		return g, true
	}
	t.moves++
	t.last = &Handover{From: before.owner, To: row.Owner, At: row.Since}
	if row.State == Transferring {
		t.last.At = r.at // its grant is not shown any more
	}
	switch {
	case h.died(before.owner):
		g.kind, t.last.Failover, t.last.AtMost = EventFailover, true, true
		t.last.TookMs = ms(r.at.Sub(before.seen))
	case !before.winding.IsZero() && row.Since.After(before.winding):
		t.last.TookMs = ms(row.Since.Sub(before.winding))
	default:
		t.last.TookMs, t.last.AtMost = ms(r.at.Sub(before.seen)), true
	}
	return g, true
}

// tell makes one event of each group.
func (h *past) tell(r *reading, groups map[hand][]*Row, names map[instance.ID]string) {
	order := make([]hand, 0, len(groups))
	for g := range groups {
		order = append(order, g)
	}
	slices.SortFunc(order, func(a, b hand) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	name := func(id instance.ID) string { return cmp.Or(names[id], h.nameOf(id)) }
	for _, g := range order {
		rows := groups[g]
		e := Event{At: r.at, Kind: g.kind, Instance: g.to}
		what := these(rows)
		switch g.kind {
		case EventMoved:
			e.Text = fmt.Sprintf("%s took %s from %s", name(g.to), what, name(g.from))
			if g.from == "" {
				e.Text = fmt.Sprintf("%s took %s", name(g.to), what)
			}
		case EventFailover:
			e.Text = fmt.Sprintf("%s took %s of %s, which was lost", name(g.to), what, name(g.from))
		case EventRestart:
			e.Text = fmt.Sprintf("%s began %s anew", name(g.to), what)
		case EventUnowned:
			e.Instance = g.from
			e.Text = fmt.Sprintf("%s without an owner, last with %s", what, name(g.from))
		}
		if len(rows) == 1 {
			e.Key = rows[0].Key
		}
		h.note(e)
	}
}

func (h *past) nameOf(id instance.ID) string {
	if a := h.members[id]; a != nil {
		return a.name
	}
	return shortID(id)
}

// these names up to two workloads, and counts the rest.
func these(rows []*Row) string {
	var list []string
	for i, row := range rows {
		if i == 2 && len(rows) > 3 {
			list = append(list, fmt.Sprintf("%d more", len(rows)-2))
			break
		}
		list = append(list, row.label())
	}
	if len(list) < 2 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// label is what people call a workload, short enough for a sentence.
func (r *Row) label() string { return clip(cmp.Or(r.Name, r.Key), 60) }

// clip shortens a text to n characters.
func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
