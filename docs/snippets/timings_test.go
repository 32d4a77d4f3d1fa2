package snippets

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// The numbers of the guide to timings are those of the code.
func TestTimingsOfTheGuide(t *testing.T) {
	const file = "docs/guides/timings.md"
	_, rest, ok := strings.Cut(read(t, file), "<!-- timings -->\n")
	table, _, end := strings.Cut(rest, "\n\n")
	if !ok || !end {
		t.Fatal(file, "has no table of timings")
	}
	rows := strings.Split(table, "\n")[2:]
	if len(rows) < 5 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, row := range rows {
		ttl, err := time.ParseDuration(strings.TrimSpace(strings.Split(row, "|")[1]))
		if err != nil {
			t.Error(row, err)
			continue
		}
		v, err := lease.Timing{LeaseTTL: ttl}.Resolve()
		if err != nil {
			t.Error(row, err)
			continue
		}
		want := fmt.Sprintf("| %v | %v | %v | %v | %v | %v |", v.LeaseTTL, v.RenewInterval, v.Margin, v.CallTimeout, v.Outage(), v.WorstFailover())
		if row != want {
			t.Errorf("%s says\n%s, the code\n%s", file, row, want)
		}
	}
	d, err := lease.Timing{}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	// Sums that other pages name.
	for page, says := range map[string]string{
		"docs/guides/rollouts.md": fmt.Sprintf("DrainTimeout + HardStop (%.0f s)", (d.DrainTimeout + d.HardStop).Seconds()),
		"docs/guarantees.md":      fmt.Sprintf("`Timing.Outage()`: %v s with the defaults", d.Outage().Seconds()),
	} {
		if !strings.Contains(read(t, page), says) {
			t.Errorf("%s does not say %q", page, says)
		}
	}
	fast, err := lease.Timing{LeaseTTL: 15 * time.Second}.Resolve()
	if err != nil || fast.Outage() < 5*time.Second || d.Outage() >= 5*time.Second {
		t.Error("the guide's advice on a failover of 5 s is wrong:", d.Outage(), fast.Outage(), err)
	}
}
