package faults

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

func TestMain(m *testing.M) {
	if cfg := os.Getenv(podEnv); cfg != "" {
		if err := runPod(cfg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fault is one row of the table.
type fault struct {
	name string
	// ci: part of the short run.
	ci bool
	// kept: no term may end.
	kept bool
	// unowned is how long a workload may at most be without a writer.
	unowned time.Duration
	// hurt sets the fleet up, hurts it, and returns once the fault is over.
	hurt func(t *testing.T) *fleet
}

// slack is what a busy machine may take on top of a bound, with several fleets running side by side.
const slack = 1500 * time.Millisecond

// all reports whether the whole table is asked for.
func all() bool { return os.Getenv("TENURE_LONG") == "1" }

// TestFaults runs the table and prints it. In every row overlaps and accepted stale writes must be
// none: the witness fails the test on the spot for the first, and refuses the second.
// Failures 1, 65.
func TestFaults(t *testing.T) {
	var table strings.Builder
	var mu sync.Mutex
	out := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "store\tfault\tterms\toverlaps\tlongest unowned\tstale writes refused\tverdict")
	t.Run("store", func(t *testing.T) {
		slots := make(chan struct{}, 3) // fleets at a time
		for store, faults := range map[string][]fault{"redis": redisFaults(), "postgres": postgresFaults(), "network": networkFaults()} {
			for _, f := range faults {
				if !f.ci && !all() {
					continue
				}
				t.Run(store+"/"+strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					defer func() { <-slots }()
					got := f.run(t)
					verdict := "as promised"
					if t.Failed() {
						verdict = "FAILED"
					}
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%v\t%d\t%s\n", store, f.name, got.Terms, got.Overlaps, got.Unowned.Round(time.Millisecond), got.Stale, verdict)
				})
			}
		}
	})
	out.Flush()
	t.Logf("what became of real fleets, lease TTL %v:\n%s", ttl, table.String())
}

// run hurts a fleet and judges what came of it.
func (f fault) run(t *testing.T) tally {
	fleet := f.hurt(t)
	fleet.settle(40 * time.Second)
	got := fleet.witness.since()
	if got.Unowned > f.unowned+slack {
		t.Errorf("a workload was without a writer for %v, want %v at most", got.Unowned, f.unowned)
	}
	if f.kept && got.Terms > 0 {
		t.Errorf("%d terms began: none should have ended", got.Terms)
	}
	if got.Writes == 0 {
		t.Error("nobody wrote")
	}
	// The worst comes late sometimes: a process that resumes, an answer that was under way.
	time.Sleep(ttl)
	late := fleet.witness.since()
	got.Overlaps, got.Stale = got.Overlaps+late.Overlaps, got.Stale+late.Stale
	// Between the worker's look at its term and the arrival of its write nothing protects it, in any
	// system: a process can be stopped right there. One write per ended term may be refused, no more.
	if got.Stale > got.Terms {
		t.Errorf("%d writes came from terms that were over, and %d terms ended", got.Stale, got.Terms)
	}
	return got
}
