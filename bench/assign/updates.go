package main

import (
	"fmt"
	"io"
)

// update is a rolling update of all pods, the oldest first, some at a time: with surge the new ones
// are started before the old ones drain, without it after they are gone. Every pod that comes or
// goes is an event of its own, after which everything is placed again.
type update struct {
	title           string
	workloads, pods int
	step            int
	surge           bool
}

var updates = []update{
	{"10 pods, surge 1", 1_000, 10, 1, true},
	{"10 pods, 1 unavailable", 1_000, 10, 1, false},
	{"100 pods, surge 25", 10_000, 100, 25, true},
	{"100 pods, 25 unavailable", 10_000, 100, 25, false},
}

// play returns how often a workload moved, on average and at most, and the highest load of a pod
// in relation to the mean.
func (u update) play(seed int, c contender) (average float64, most int, peak float64) {
	f := newFleet(seed, u.workloads, u.pods)
	f.settle(c)
	for left := u.pods; left > 0; left -= u.step {
		step := min(u.step, left)
		if u.surge {
			f.start(c, step)
		}
		for i := range step {
			f.pods[i].draining = true // the oldest are in front
			f.settle(c)
		}
		for range step {
			f.leave(0)
		}
		if !u.surge {
			f.start(c, step)
		}
	}
	sum := 0
	for _, moves := range f.moves {
		sum += moves
		most = max(most, moves)
	}
	return float64(sum) / float64(u.workloads), most, float64(f.peak*u.pods) / float64(u.workloads)
}

// start lets pods of the new version join one after the other.
func (f *fleet) start(c contender, count int) {
	for range count {
		f.join("new", 1)
		f.settle(c)
	}
}

func printUpdates(w io.Writer, seed int) {
	fmt.Fprintf(w, "## Rolling update, oldest pod first: moves per workload, average (most), highest load/mean\n\n")
	fmt.Fprintf(w, "Every workload has to leave its pod, so nothing is below 1.00.\n\n| assigner |")
	for _, u := range updates {
		fmt.Fprintf(w, " %s |", u.title)
	}
	fmt.Fprint(w, "\n|---|")
	for range updates {
		fmt.Fprint(w, "--:|")
	}
	fmt.Fprintln(w)
	for _, c := range contenders() {
		fmt.Fprintf(w, "| %s |", c.name)
		for _, u := range updates {
			average, most, peak := u.play(seed, c)
			fmt.Fprintf(w, " %.2f (%d), %.2f |", average, most, peak)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}
