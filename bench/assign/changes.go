package main

import (
	"fmt"
	"io"
)

// printChanges shows the loads, and the moves of one join and of one leave, as means of some fleets.
func printChanges(w io.Writer, seed, runs, workloads, pods int) {
	fmt.Fprintf(w, "## One join, one leave: %d workloads, %d pods, mean of %d fleets\n\n", workloads, pods, runs)
	fmt.Fprintf(w, "The fewest moves that keep the loads within one: %d for a join, %d for a leave.\n\n", fewestJoin(workloads, pods), workloads/pods)
	fmt.Fprintln(w, "| assigner | max/mean | min/mean | join: moved | leave, oldest pod | leave, middle pod |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|")
	for _, c := range contenders() {
		var sum [5]float64
		for run := range runs {
			mean := float64(workloads) / float64(pods)
			f := newFleet(seed*1000+run, workloads, pods)
			f.settle(c)
			most, least := f.loads()
			sum[0] += float64(most) / mean
			sum[1] += float64(least) / mean
			sum[2] += float64(change(c, seed*1000+run, workloads, pods, func(f *fleet) { f.join("old", 1) }))
			sum[3] += float64(change(c, seed*1000+run, workloads, pods, func(f *fleet) { f.leave(0) }))
			sum[4] += float64(change(c, seed*1000+run, workloads, pods, func(f *fleet) { f.leave(pods / 2) }))
		}
		fmt.Fprintf(w, "| %s |", c.name)
		for n, s := range sum {
			digits := 0
			if n < 2 {
				digits = 2
			}
			fmt.Fprintf(w, " %.*f |", digits, s/float64(runs))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// change settles a fleet, changes it, and returns how many workloads move.
func change(c contender, seed, workloads, pods int, do func(*fleet)) int {
	f := newFleet(seed, workloads, pods)
	f.settle(c)
	do(f)
	return f.settle(c)
}

func fewestJoin(n, m int) int {
	return max(n/(m+1), n-m*((n+m)/(m+1)))
}
