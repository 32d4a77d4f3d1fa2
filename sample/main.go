package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/redis/go-redis/v9/logging"
)

// Exit statuses.
const (
	exitGood        = 0
	exitBad         = 1 // a workload had two owners or none at the end, or a pod crashed by itself
	exitUsage       = 2 // bad flags, an unusable catalogue or store
	exitOrphan      = 3 // of a pod whose parent has gone
	exitInterrupted = 130
)

func main() {
	logging.Disable() // go-redis writes to standard error; what matters comes back as an error
	if os.Getenv(podEnv) != "" {
		if err := runPod(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitBad)
		}
		os.Exit(exitGood)
	}
	os.Exit(runFleet(os.Args[1:]))
}

// runFleet is the main function of the parent.
func runFleet(args []string) int {
	o, err := parseOptions(args, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitGood
	}
	if err == nil {
		var status int
		if status, err = start(o, os.Stdout, os.Stderr); err == nil {
			return status
		}
	}
	// Some drivers spread an error over several lines.
	fmt.Fprintf(os.Stderr, "sample: %s\n", strings.Join(strings.Fields(err.Error()), " "))
	return exitUsage
}
