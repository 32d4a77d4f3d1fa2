package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
	"github.com/tenure-go/tenure/cmd/tenure/internal/suite"
	"github.com/tenure-go/tenure/lease"
)

// verified is the JSON of verify.
type verified struct {
	Store   string         `json:"store"`
	Server  string         `json:"server"`
	Seed    uint64         `json:"seed"`
	Passed  int            `json:"passed"`
	Failed  int            `json:"failed"`
	Skipped int            `json:"skipped"`
	Seconds float64        `json:"seconds"`
	Checks  []suite.Result `json:"checks"`
}

// verifyOptions are the flags of verify.
type verifyOptions struct {
	run     string
	unit    time.Duration
	short   bool
	seed    uint64
	lanes   int
	timeout time.Duration
}

// ttlUnits is the longest session TTL of a scratch fleet, in units.
const ttlUnits = 25

func (a *app) verify() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use: "verify", Short: "Run the conformance suite against your server, in scratch fleets", Args: no,
		Long: `Tries every sentence of the store contracts on your own server: more than a hundred checks, each in a
fresh fleet. The fleets live under a prefix of their own (Redis) or in a schema of their own
(PostgreSQL; the role must be allowed to create one), which is removed at the end. Nothing of your
fleets is read or written, but the server has some work to do: a few hundred calls a second.

On a slow or distant server raise --unit, the grain of time of all checks. The exit status is 1
where a check failed; each failure says which promise was broken. It is 4 where --timeout came first.
` + exitHelp,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runVerify(cmd, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.run, "run", "", "only the checks whose name matches `REGEXP`, such as O07, ^T or 'O01|T01'; without it all of them run and are listed")
	f.DurationVar(&o.unit, "unit", 500*time.Millisecond, "grain of time of the checks, 10ms to 1m; 200ms is enough for a quick server nearby")
	f.BoolVar(&o.short, "short", false, "leave out the checks that wait for long")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the random checks (0: a fresh one, which is printed)")
	f.IntVar(&o.lanes, "lanes", 8, "how many checks run beside each other, 1 to 64")
	timeoutFlag(cmd, &o.timeout, 15*time.Minute, "how long the run may take")
	return cmd
}

func (o verifyOptions) check() error {
	switch _, err := regexp.Compile(o.run); {
	case err != nil:
		return usage("--run %s: no regular expression; write the beginning of a check's name, such as ^O", cut(o.run))
	case strings.Contains(o.run, "/"):
		return usage("--run %s: must not contain a slash; checks have no parts", cut(o.run))
	case o.unit < 10*time.Millisecond || o.unit > time.Minute:
		return usage("--unit %v: must be between 10ms and 1m", o.unit)
	case o.lanes < 1 || o.lanes > 64:
		return usage("--lanes %d: must be between 1 and 64", o.lanes)
	case o.timeout <= 0:
		return usage("--timeout %v: must be above 0", o.timeout)
	}
	return nil
}

func (a *app) runVerify(cmd *cobra.Command, o verifyOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := a.open(cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	v := verified{Store: s.Where(), Seed: o.seed, Checks: []suite.Result{}}
	if v.Seed == 0 {
		v.Seed = randomSeed()
	}
	report, err := s.Inspect(ctx)
	if err != nil {
		return err
	}
	v.Server = report.Server
	place := "tenure_verify_" + strings.ToLower(rand.Text()[:12])
	scratch := s.Scratch(place, ttlUnits*o.unit)
	if err := scratch.Prepare(ctx); err != nil {
		return err
	}
	if err := takesWrites(ctx, scratch); err != nil {
		return err
	}
	head := func() {}
	if !a.json {
		head = sync.OnceFunc(func() {
			fmt.Fprintf(a.Err, "%s at %s, in scratch fleets under %s, seed %d\n", v.Server, v.Store, place, v.Seed)
		})
	}
	if o.run == "" {
		head() // otherwise with the first check: there may be none
	}
	began := time.Now()
	err = suite.Run(ctx, suite.Spec{
		Store: a.cfg, Place: place, Unit: o.unit, MaxTTL: ttlUnits * o.unit, Run: o.run, Short: o.short, Seed: v.Seed, Lanes: o.lanes, Timeout: o.timeout,
	}, func(r suite.Result) { head(); a.checked(&v, r) })
	v.Seconds = time.Since(began).Seconds()
	if left := removeScratch(scratch); left != nil {
		fmt.Fprintf(a.Err, "tenure: what was made under %s could not be removed: %v\n", place, left)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fail(exitTimeout, "not done after %v: %d checks passed, %d failed; raise --timeout", o.timeout, v.Passed, v.Failed)
	}
	if err != nil {
		return err
	}
	return a.verdict(v, o)
}

// takesWrites tries one write, so that a server that takes none is not blamed for what a hundred checks could not do.
// Whatever else is wrong is for them to tell.
func takesWrites(ctx context.Context, scratch stores.Scratch) error {
	s, err := scratch.Open("write")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Provision(ctx); errors.Is(err, lease.ErrReadOnlyStore) {
		return err
	}
	return nil
}

// randomSeed is short enough to type.
func randomSeed() (n uint64) {
	var b [4]byte
	rand.Read(b[:])
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return max(n, 1)
}

// removeScratch cleans up under a context of its own: the caller's may have ended.
func removeScratch(s stores.Scratch) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return s.Remove(ctx)
}

// checked notes one check.
func (a *app) checked(v *verified, r suite.Result) {
	v.Checks = append(v.Checks, r)
	switch r.Outcome {
	case suite.Passed:
		v.Passed++
	case suite.Failed:
		v.Failed++
	case suite.Skipped:
		v.Skipped++
	}
	if a.json {
		return
	}
	fmt.Fprintf(a.Out, "%-7s %s %s (%.2fs)\n", r.Outcome, r.ID, r.Name, r.Seconds)
	if r.Outcome == suite.Failed {
		for _, line := range r.Output {
			fmt.Fprintf(a.Out, "        %s\n", line)
		}
	}
}

func (a *app) verdict(v verified, o verifyOptions) error {
	if v.Passed+v.Failed+v.Skipped == 0 {
		without := ""
		if o.short {
			without = ", or --short leaves it out"
		}
		return usage("--run %s: no check has such a name%s; write one such as O07, or the beginning of many, such as ^T (without --run all of them run and are listed)", cut(o.run), without)
	}
	if a.json {
		if err := a.emit(v); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.Out, "%d passed, %d failed, %d skipped in %.1fs\n", v.Passed, v.Failed, v.Skipped, v.Seconds)
	}
	if v.Failed > 0 {
		return quietly(exitNo)
	}
	return nil
}
