package lab

import (
	"fmt"
	"io"
	"strings"
)

// Report is what a scenario found.
type Report struct {
	Name, Title string
	// Notes say how the figures come about.
	Notes  []string
	Tables []*Table
	Bounds []Bound
	Plots  []Plot
}

// Bound is a figure that must hold, and whether it does.
type Bound struct {
	Work string
	// Want is the bound and Got the figure, for people.
	Want, Got string
	OK        bool
}

// AtMost judges a figure that must not be higher.
func (r *Report) AtMost(work string, got, limit float64, unit string) {
	r.Bounds = append(r.Bounds, Bound{work, "≤ " + withUnit(limit, unit), withUnit(got, unit), got <= limit})
}

// AtLeast judges a figure that must not be lower.
func (r *Report) AtLeast(work string, got, limit float64, unit string) {
	r.Bounds = append(r.Bounds, Bound{work, "≥ " + withUnit(limit, unit), withUnit(got, unit), got >= limit})
}

func withUnit(v float64, unit string) string {
	if unit == "×" {
		return Digits(v) + " ×"
	}
	return strings.TrimSpace(Digits(v) + " " + unit)
}

// Note adds a sentence on how the figures come about.
func (r *Report) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Write prints the report as Markdown.
func (r *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "### %s: %s\n\n", r.Name, r.Title)
	for _, n := range r.Notes {
		fmt.Fprintf(w, "%s\n\n", n)
	}
	for _, t := range r.Tables {
		t.Write(w)
	}
	WriteBounds(w, r.Bounds)
}

// WriteBounds prints judged figures as a table.
func WriteBounds(w io.Writer, bounds []Bound) {
	if len(bounds) == 0 {
		return
	}
	fmt.Fprint(w, "| work | bound | measured | |\n|---|--:|--:|---|\n")
	for _, b := range bounds {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", b.Work, b.Want, b.Got, b.verdict())
	}
	fmt.Fprintln(w)
}

func (b Bound) verdict() string {
	if b.OK {
		return "ok"
	}
	return "**missed**"
}
