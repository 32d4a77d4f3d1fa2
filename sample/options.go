package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// options are the command line, checked.
type options struct {
	pods      int
	catalogue []string
	runFor    time.Duration // 0: until told to stop
	chaos     bool
	rollout   bool
	failFast  bool
	seed      uint64
	timing    lease.Timing
	json      bool
	store     string // empty: embedded
	page      string // address; empty: none
}

const (
	mostPods = 32
	minTTL   = 500 * time.Millisecond
	maxTTL   = time.Hour
)

const usage = `A fleet of real processes that share named workloads on this machine, and a witness
that counts every moment at which a workload had two owners.

usage: sample [flags]

%sOn a terminal, press k to kill -9 a pod, d to drain one, a to add one, p to pause one and to
resume it, q to quit with a verdict. Otherwise it logs lines. Ctrl-C drains, a second one
stops at once. The exit status is 1 when a workload had two owners or ended without one, and
2 when nothing was started: a flag, the catalogue or the store cannot be used.
`

// parseOptions reads the command line. Help goes to help, with flag.ErrHelp; any other error is one line.
func parseOptions(args []string, help io.Writer) (options, error) {
	var o options
	var file string
	var generate int
	var ttl time.Duration
	f := flag.NewFlagSet("sample", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.IntVar(&o.pods, "pods", 3, "how many processes to start")
	f.StringVar(&file, "catalogue", "", "read the workloads from `FILE`, one key a line")
	f.IntVar(&generate, "workloads", 0, "generate `N` workloads")
	f.DurationVar(&o.runFor, "for", 0, "run for this long, then print the verdict (0: until stopped)")
	f.BoolVar(&o.chaos, "chaos", false, "kill, pause, drain and add pods, and wipe the store, at random")
	f.BoolVar(&o.rollout, "rollout", false, "replace all pods one by one, then print the verdict")
	f.BoolVar(&o.failFast, "fail-fast", false, "end the run as soon as a workload had two owners")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything random (0: choose one and print it)")
	f.DurationVar(&ttl, "lease-ttl", 3*time.Second, "how long a dead pod keeps its leases; the other timings follow it")
	f.BoolVar(&o.json, "json", false, "print one JSON object a line and nothing else")
	f.StringVar(&o.store, "store", "", "use the server at `URL` (redis://, rediss://, postgres://) instead of the embedded store")
	f.StringVar(&o.page, "page", "127.0.0.1:0", "serve the fleet's page at `ADDRESS` (port 0: a free one; empty: no page)")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			var flags strings.Builder
			f.SetOutput(&flags)
			f.PrintDefaults()
			fmt.Fprintf(help, usage, flags.String())
			return o, err
		}
		return o, fmt.Errorf("%s (-h lists the flags)", misread(f, err))
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: everything is a flag (-h lists them)", f.Arg(0))
	}
	var generated bool
	var empty string
	f.Visit(func(f *flag.Flag) {
		generated = generated || f.Name == "workloads"
		if f.Value.String() == "" && f.Name != "page" { // a variable that was not set, more often than not
			empty = f.Name
		}
	})
	if empty != "" {
		return o, fmt.Errorf("-%s %q: must not be empty; give a value, or leave the flag out", empty, "")
	}
	if err := o.check(file, generate, generated, ttl); err != nil {
		return o, err
	}
	var err error
	if o.timing, err = (lease.Timing{LeaseTTL: ttl}).Resolve(); err != nil {
		return o, fmt.Errorf("-lease-ttl: %w", err)
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1_000_000) + 1
	}
	o.catalogue, err = openCatalogue(file, generate)
	return o, err
}

// misread is package flag's error, with what it should have been: "parse error" helps nobody.
func misread(f *flag.FlagSet, err error) string {
	text, cause, found := strings.Cut(err.Error(), " for flag -")
	name, _, _ := strings.Cut(cause, ":")
	bad := f.Lookup(name)
	if !found || bad == nil {
		return err.Error()
	}
	kind := "a whole number of 0 or more, such as 3"
	if _, isTime := bad.Value.(flag.Getter).Get().(time.Duration); isTime {
		kind = "a time with its unit, such as 30s or 2m"
	}
	return fmt.Sprintf("%s for flag -%s: must be %s", text, name, kind)
}

func (o options) check(file string, generate int, generated bool, ttl time.Duration) error {
	switch {
	case o.pods < 1 || o.pods > mostPods:
		return fmt.Errorf("-pods %d: must be between 1 and %d", o.pods, mostPods)
	case generated && file != "":
		return errors.New("-catalogue and -workloads both say what to run: give one of them")
	case generated && (generate < 1 || generate > mostWorkloads):
		return fmt.Errorf("-workloads %d: must be between 1 and %d", generate, mostWorkloads)
	case o.runFor < 0:
		return fmt.Errorf("-for %v: must not be negative", o.runFor)
	case o.chaos && o.rollout:
		return errors.New("-chaos and -rollout both move pods: give one of them")
	case ttl < minTTL || ttl > maxTTL:
		return fmt.Errorf("-lease-ttl %v: must be between %v and %v", ttl, minTTL, maxTTL)
	}
	if o.page != "" {
		if err := checkAddress(o.page); err != nil {
			return err
		}
	}
	if o.store != "" {
		return checkStoreURL(o.store)
	}
	return nil
}

var storeSchemes = []string{"redis", "rediss", "postgres", "postgresql"}

func checkStoreURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		// The error of package url repeats the URL, which may hold a password.
		return errors.New("-store: not a URL; write it as redis://127.0.0.1:6379/0 or postgres://user:password@127.0.0.1:5432/database")
	}
	if !slices.Contains(storeSchemes, u.Scheme) {
		return fmt.Errorf("-store %s: scheme %q is not one of %s", u.Redacted(), u.Scheme, strings.Join(storeSchemes, ", "))
	}
	return nil
}
