package dashboard

import (
	"fmt"
	"strings"

	"github.com/tenure-go/tenure/instance"
)

// column is an instance in the picture.
type column struct {
	*Member
	Cells []cell
	Size  string // class of the cells: the more there are, the smaller
	Text  string // the column in words
	Link  string
	Empty bool // the column of what has no owner
}

// cell is a workload, or several of a large fleet.
type cell struct {
	State State
	Title string
	Link  string
}

const (
	// mostCells keeps the picture of any fleet at the size of a small one's: beyond it a cell stands
	// for several workloads, and shows the worst of their states.
	mostCells   = 720
	mostColumns = 48
)

// picture shows who holds what: a column for each instance, and one for what nobody holds.
type picture struct {
	Columns []column
	Per     int // workloads per cell
	More    int // instances that are not shown
}

func (f *fleet) draw(q query) picture {
	pic := picture{Per: 1}
	if n := len(f.rows); n > mostCells {
		pic.Per = (n + mostCells - 1) / mostCells
	}
	index := make(map[instance.ID]int, len(f.members)+1)
	groups := make([][]*Row, 0, len(f.members)+1)
	for i := range f.members {
		if len(groups) == mostColumns {
			pic.More = len(f.members) - i
			break
		}
		m := &f.members[i]
		index[m.ID] = len(groups)
		groups = append(groups, nil)
		pic.Columns = append(pic.Columns, column{Member: m, Link: query{sort: "key", page: 1, per: q.per, refresh: q.refresh, owner: m.ID}.link()})
	}
	var free []*Row
	for i := range f.rows {
		r := &f.rows[i]
		if r.Owner == "" {
			free = append(free, r)
		} else if at, shown := index[r.Owner]; shown {
			groups[at] = append(groups[at], r)
		}
	}
	if len(free) > 0 {
		none := query{sort: "key", page: 1, per: q.per, refresh: q.refresh, state: attention}
		pic.Columns = append(pic.Columns, column{Empty: true, Member: &Member{Name: "no owner"}, Link: none.link()})
		groups = append(groups, free)
	}
	largest := 0
	for i := range groups {
		largest = max(largest, (len(groups[i])+pic.Per-1)/pic.Per)
	}
	for i, group := range groups {
		c := &pic.Columns[i]
		c.Cells, c.Text, c.Size = cells(group, pic.Per, q), inWords(group), sizeOf(largest)
	}
	return pic
}

func sizeOf(largest int) string {
	switch {
	case largest <= 24:
		return "large"
	case largest <= 96:
		return "medium"
	}
	return "small"
}

// cells makes the squares of one column.
func cells(rows []*Row, per int, q query) []cell {
	out := make([]cell, 0, (len(rows)+per-1)/per)
	for len(rows) > 0 {
		n := min(per, len(rows))
		part := rows[:n]
		rows = rows[n:]
		c := cell{State: worst(part)}
		if n == 1 {
			r := part[0]
			q.key = r.Key
			c.Title, c.Link = r.label()+" · "+word(r.State), q.link()+"#detail"
		} else {
			c.Title = fmt.Sprintf("%s … %s · %s", clip(part[0].Key, 40), clip(part[n-1].Key, 40), inWords(part))
		}
		out = append(out, c)
	}
	return out
}

func worst(rows []*Row) State {
	for _, s := range states {
		for _, r := range rows {
			if r.State == s {
				return s
			}
		}
	}
	return Active
}

// inWords counts the states.
func inWords(rows []*Row) string {
	if len(rows) == 0 {
		return "nothing"
	}
	var list []string
	for i := range states {
		s := states[len(states)-1-i]
		n := 0
		for _, r := range rows {
			if r.State == s {
				n++
			}
		}
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, word(s)))
		}
	}
	return strings.Join(list, ", ")
}

// word is what people call a state.
func word(s State) string {
	switch s {
	case Transferring:
		return "handing over"
	case Unowned:
		return "without an owner"
	case Inactive:
		return "at rest"
	}
	return string(s)
}
