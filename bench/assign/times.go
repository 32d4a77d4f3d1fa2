package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/tenure-go/tenure/assigner"
)

// printTimes shows how long one plan takes: from strings and maps, and for one join or leave from
// an index (the libraries have no index: they place everything again).
func printTimes(w io.Writer, seed, runs, workloads, pods int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fmt.Fprintf(w, "## One plan, %s: %d workloads, %d pods, median of %d (fastest), %s\n\n", clockName, workloads, pods, runs, runtime.Version())
	fmt.Fprintln(w, "| assigner | everything, from strings and maps | one change, from an index |")
	fmt.Fprintln(w, "|---|--:|--:|")
	f := newFleet(seed, workloads, pods)
	for _, c := range contenders() {
		cold := sample(runs, func() { c.place(f) })
		changed := "-"
		if c.ours != nil {
			in := f.input()
			cold = sample(runs, func() { mustPlan(c.ours.Plan(in)) })
			changed = milliseconds(timeChanges(c.ours, in, runs))
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", c.name, milliseconds(cold), changed)
	}
	fmt.Fprintln(w)
}

// timeChanges lets a pod join and leave in turn.
func timeChanges(a assigner.Indexed, in assigner.Input, runs int) []time.Duration {
	x, err := assigner.NewIndex(in)
	if err != nil {
		panic(err)
	}
	x.Adopt(mustPlan(a.PlanIndex(x)))
	joined := append(slices.Clone(in.Instances), assigner.Instance{ID: "app-joiner", Version: "old", JoinedAt: time.Unix(1<<31, 0)})
	turn := 0
	return sample(2*runs, func() {
		list := joined
		if turn%2 == 1 {
			list = in.Instances
		}
		turn++
		if err := x.SetInstances(list); err != nil {
			panic(err)
		}
		x.Adopt(mustPlan(a.PlanIndex(x)))
	})
}

func mustPlan(p assigner.Plan, err error) assigner.Plan {
	if err != nil {
		panic(err) // the input is this program's own
	}
	return p
}

func sample(runs int, f func()) []time.Duration {
	f() // warm
	all := make([]time.Duration, runs)
	for i := range all {
		runtime.GC()
		start := now()
		f()
		all[i] = now() - start
	}
	slices.Sort(all)
	return all
}

func milliseconds(sorted []time.Duration) string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("%.1f ms (%.1f)", ms(sorted[len(sorted)/2]), ms(sorted[0]))
}
