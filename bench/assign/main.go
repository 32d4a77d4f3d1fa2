// Assign measures how assigners spread workloads, how many they move when the fleet changes, and
// how long they think, beside the hashing libraries that people use for the same purpose. It
// prints three tables in Markdown. Moves and loads depend on nothing but the code and -seed; times
// depend on the machine.
//
//	go run ./bench/assign                 everything, about a minute
//	go run ./bench/assign -times=false    moves and loads only
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	seed := flag.Int("seed", 1, "names the instances of every fleet; another seed, other fleets")
	runs := flag.Int("runs", 5, "fleets per row of the first table, and timings per row of the last")
	times := flag.Bool("times", true, "measure times at 100 000 workloads and 1 000 instances")
	flag.Parse()
	if *runs < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "assign: -runs must be at least 1, and there are no arguments besides flags")
		os.Exit(2)
	}
	printChanges(os.Stdout, *seed, *runs, 10_000, 100)
	printUpdates(os.Stdout, *seed)
	if *times {
		printTimes(os.Stdout, *seed, *runs, 100_000, 1_000)
	}
}
