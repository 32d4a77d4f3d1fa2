package lab

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is the outcome of a comparison.
type Table struct {
	Title, Unit string
	Rows        []Row
}

// Row is what one contender did: one value per round.
type Row struct {
	Name   string
	Kind   Kind
	Values []float64
}

// Row returns the row of that name; asking for one that is not there is a mistake in a scenario.
func (t *Table) Row(name string) Row {
	for _, r := range t.Rows {
		if r.Name == name {
			return r
		}
	}
	panic("bench: no row " + strconv.Quote(name) + " in " + strconv.Quote(t.Title))
}

// Median is the median of a row.
func (t *Table) Median(name string) float64 { return Median(t.Row(name).Values) }

// Ratio is the median, over the rounds, of one contender's value to another's.
func (t *Table) Ratio(of, to string) float64 { return ratio(t.Row(of), t.Row(to)) }

func ratio(of, to Row) float64 {
	var all []float64
	for i := range min(len(of.Values), len(to.Values)) {
		if to.Values[i] != 0 {
			all = append(all, of.Values[i]/to.Values[i])
		}
	}
	return Median(all)
}

// first returns the first row of a kind.
func (t *Table) first(k Kind) (Row, bool) {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Kind == k })
	if i < 0 {
		return Row{}, false
	}
	return t.Rows[i], true
}

// Write prints the table as Markdown: the values, and the ratios to the first floor and to the first of ours.
func (t *Table) Write(w io.Writer) {
	floor, hasFloor := t.first(Floor)
	ours, hasOurs := t.first(Ours)
	several := len(t.Rows) > 1
	fmt.Fprintf(w, "**%s, %s**\n\n", t.Title, t.Unit)
	head, rule := "| | min | median | max |", "|---|--:|--:|--:|"
	if hasFloor && several {
		head, rule = head+" ÷ floor |", rule+"--:|"
	}
	if hasOurs && several {
		head, rule = head+" ÷ Tenure |", rule+"--:|"
	}
	fmt.Fprintf(w, "%s\n%s\n", head, rule)
	for _, r := range t.Rows {
		name := r.Name
		switch r.Kind {
		case Ours:
			name = "**" + name + "**"
		case Floor:
			name = "*" + name + "*"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |", name, Digits(slices.Min(r.Values)), Digits(Median(r.Values)), Digits(slices.Max(r.Values)))
		if hasFloor && several {
			fmt.Fprintf(w, " %s |", Digits(ratio(r, floor)))
		}
		if hasOurs && several {
			fmt.Fprintf(w, " %s |", Digits(ratio(r, ours)))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// Digits shows three significant digits, with thin groups of thousands.
func Digits(v float64) string {
	switch {
	case v == 0 || math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'f', -1, 64)
	case math.Abs(v) >= 99.95:
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func group(s string) string {
	var parts []string
	for len(s) > 3 && s[len(s)-4] != '-' {
		parts = append(parts, s[len(s)-3:])
		s = s[:len(s)-3]
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return strings.Join(parts, " ")
}
