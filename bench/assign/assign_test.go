package main

import (
	"strings"
	"testing"
)

// TestTables runs everything once on small fleets, and holds what the documentation says of Sticky.
func TestTables(t *testing.T) {
	var b strings.Builder
	printChanges(&b, 1, 1, 200, 10)
	printTimes(&b, 1, 1, 200, 10)
	for _, c := range contenders() {
		if n := strings.Count(b.String(), "| "+c.name+" |"); n != 2 {
			t.Errorf("%s is in %d tables, want 2:\n%s", c.name, n, b.String())
		}
	}
	sticky := contenders()[0]
	if moved := change(sticky, 1, 200, 10, func(f *fleet) { f.join("old", 1) }); moved != fewestJoin(200, 10) {
		t.Errorf("a join moved %d, want %d", moved, fewestJoin(200, 10))
	}
	if average, most, peak := updates[0].play(1, sticky); average != 1 || most != 1 || peak != 1 {
		t.Errorf("a rolling update with surge: %.2f moves, at most %d, peak %.2f; want 1, 1 and 1", average, most, peak)
	}
}
