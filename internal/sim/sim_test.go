package sim

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenure-go/tenure/internal/long"
)

var (
	seeds  = flag.Int("seeds", long.Or(300, 8), "how many schedules to run")
	first  = flag.Uint64("first-seed", 1, "seed of the first schedule")
	replay = flag.String("replay", "", "run this one schedule, as a failure prints it, instead")
	all    = flag.Bool("all", false, "go on after a failure, and only count")
	spare  = flag.String("spare", "", "promises that are not held to, such as liveness,S6")
	small  = flag.Bool("shrink", true, "look for a smaller schedule that fails in the same way")
	tell   = flag.Bool("tell", false, "print what happened in every run")
)

// TestSeeds runs fleets through random schedules.
func TestSeeds(t *testing.T) {
	if *replay != "" {
		s, err := parse(*replay)
		if err != nil {
			t.Fatalf("-replay: %v", err)
		}
		report(t, s, play(t, s))
		return
	}
	n := *seeds
	counts, slowest, broken := map[string]int{}, time.Duration(0), 0
	for seed := *first; seed < *first+uint64(n); seed++ {
		s := generate(seed)
		r := play(t, s)
		for what, n := range r.stats.counts {
			counts[what] += n
		}
		slowest = max(slowest, r.stats.settle)
		switch {
		case r.rule == "" && !*tell:
		case *all:
			broken++
			t.Errorf("seed %d breaks %s", seed, strings.Join(r.faults, "\n"))
		default:
			report(t, s, r)
			if r.rule != "" {
				return // one failure is enough to think about
			}
		}
	}
	t.Logf("%d schedules, %d broken, all well at most %v after the end of all faults; %v", n, broken, slowest, counts)
	for _, what := range []string{"terms", "losses", "trips", "drains", "drain timeouts", "failures", "planner's terms", "losses of data", "calls lost", "answers lost", "calls repeated", "pauses"} {
		if counts[what] == 0 && n >= 30 && broken == 0 {
			t.Errorf("%d schedules without any %s: the simulation does not do what it should", n, what)
		}
	}
}

// report fails the test with all that is needed to see the run again.
func report(t *testing.T, s schedule, r result) {
	t.Helper()
	if *tell {
		t.Logf("seed %d\n%v%s", s.Seed, s, strings.Join(r.notes, "\n"))
	}
	if r.rule == "" {
		return
	}
	t.Errorf("seed %d breaks %s\n%s\nschedule: %v\nhistory:\n%s", s.Seed, r.rule, strings.Join(r.faults, "\n"), s, strings.Join(r.notes, "\n"))
	if !*small {
		return
	}
	again := 0
	for range 5 {
		if play(t, s).rule == r.rule {
			again++
		}
	}
	least := shrink(t, s, r.rule)
	t.Errorf("%d of 5 replays break %s as well\nshrunk from %d steps to %d: %v\nreplay: go test ./internal/sim -run 'TestSeeds$' -tell -v -replay '%s'",
		again, r.rule, len(s.Steps), len(least.Steps), least, write(least))
}

// TestKeptSchedules replays what once broke a promise.
func TestKeptSchedules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(string(b))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		report(t, s, play(t, s))
	}
}
