package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
)

// checked is the JSON of check.
type checked struct {
	Store    string           `json:"store"`
	Server   string           `json:"server"`
	Usable   bool             `json:"usable"`
	Details  []stores.Detail  `json:"details"`
	Clock    clockCheck       `json:"clock"`
	Findings []stores.Finding `json:"findings"`
}

// clockCheck compares the server's clock with this machine's.
type clockCheck struct {
	// OffsetSeconds is how far the server's clock is ahead. It does not matter to safety.
	OffsetSeconds float64 `json:"offsetSeconds"`
	// RatePercent is how much faster the server's clock runs, as measured over OverSeconds, and UncertainPercent how
	// exact that is.
	RatePercent      float64 `json:"ratePercent"`
	UncertainPercent float64 `json:"uncertainPercent"`
	OverSeconds      float64 `json:"overSeconds"`
	RoundTripSeconds float64 `json:"roundTripSeconds"`
}

func (a *app) check() *cobra.Command {
	var timeout, clock time.Duration
	var strict bool
	cmd := &cobra.Command{
		Use: "check", Short: "Tell whether a store can be used, and what weakens it", Args: no,
		Long: `Looks at the store's server and leaves nothing behind: can it be reached, is its version right, does it
take writes (Redis is asked to, on a key that exists for no longer than that), may the user do what Tenure
does, and which settings weaken what it promises: eviction, replicas that may lag, persistence, fsync, the
schema and its rights. It also compares the server's clock with this machine's: an offset is
harmless, but rates that differ by a tenth (the margin of a lease, by default) are not.

The exit status is 1 where the store cannot be used as it is; with --strict for any finding.
` + exitHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if clock < 0 || clock > time.Minute {
				return usage("--clock %v: must be between 0 (do not look at the clock) and 1m", clock)
			}
			ctx, cancel, err := bounded(cmd, timeout)
			if err != nil {
				return err
			}
			defer cancel()
			s, err := a.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			c, err := a.inspect(ctx, cmd.Context(), s, clock)
			if err != nil {
				return err
			}
			if err := a.showCheck(c); err != nil {
				return err
			}
			if !c.Usable || strict && len(c.Findings) > 0 {
				return quietly(exitNo)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 for any finding")
	cmd.Flags().DurationVar(&clock, "clock", time.Second, "how long to compare the clocks (0: not at all)")
	timeoutFlag(cmd, &timeout, 5*time.Second, "how long to wait for the store")
	return cmd
}

// inspect looks at the server until ctx ends. The time that the clocks are compared for is added to what is left then: it is
// spent on purpose, not on waiting for the store.
func (a *app) inspect(ctx, parent context.Context, s stores.Handle, clock time.Duration) (checked, error) {
	r, err := s.Inspect(ctx)
	if err != nil {
		return checked{}, err
	}
	c := checked{Store: s.Where(), Server: r.Server, Usable: true, Details: r.Details, Findings: append([]stores.Finding{}, r.Findings...)}
	for _, f := range c.Findings {
		c.Usable = c.Usable && !f.Fatal
	}
	if f, differs, err := a.compareMaxTTL(ctx, s, c.Usable); err != nil {
		return c, err
	} else if differs {
		c.Findings = append(c.Findings, f)
	}
	if clock > 0 {
		end, _ := ctx.Deadline()
		ctx, cancel := context.WithDeadline(parent, end.Add(clock))
		defer cancel()
		if c.Clock, err = compare(ctx, s, clock); err != nil {
			return c, err
		}
		if f, bad := c.Clock.judge(); bad {
			c.Findings = append(c.Findings, f)
		}
	}
	return c, nil
}

// compareMaxTTL finds a --max-ttl that is not what the fleet is used with. A store that cannot be used has no fleet to look at.
func (a *app) compareMaxTTL(ctx context.Context, s stores.Handle, usable bool) (found stores.Finding, differs bool, err error) {
	if !usable {
		return found, false, nil
	}
	f, err := stores.LookAt(ctx, s)
	if err != nil || f.MaxTTL == 0 || f.MaxTTL == a.cfg.MaxTTL {
		return found, false, err
	}
	return stores.Finding{
		Setting: "--max-ttl", Value: a.cfg.MaxTTL.String(),
		Meaning: fmt.Sprintf("fleet %s has been used with %v; after a loss of data, grants are frozen for the longest that its processes named", printable(a.cfg.Fleet, 0), f.MaxTTL),
		Remedy:  "give every process of the fleet the same, and raise it everywhere before any lease TTL",
	}, true, nil
}

// reading is one look at the server's clock.
type reading struct {
	at     time.Time // this machine's, in the middle of the call
	offset time.Duration
	trip   time.Duration
}

// readClock takes the quickest of a few looks: the shorter the call, the more exact.
func readClock(ctx context.Context, s stores.Handle) (best reading, err error) {
	for i := range 5 {
		sent := time.Now()
		server, err := s.ServerTime(ctx)
		if err != nil {
			return best, err
		}
		trip := time.Since(sent)
		if i == 0 || trip < best.trip {
			middle := sent.Add(trip / 2)
			best = reading{at: middle, offset: server.Sub(middle.Round(0)), trip: trip}
		}
	}
	return best, nil
}

// compare measures how far and how fast the server's clock is.
func compare(ctx context.Context, s stores.Handle, over time.Duration) (c clockCheck, err error) {
	first, err := readClock(ctx, s)
	if err != nil {
		return c, err
	}
	select {
	case <-ctx.Done():
		return c, ctx.Err()
	case <-time.After(over):
	}
	second, err := readClock(ctx, s)
	if err != nil {
		return c, err
	}
	// The monotonic clock is what leases are timed by here. The offsets are against the wall clock, so that a step of
	// the wall clock in between is taken out.
	awake := second.at.Sub(first.at)
	stepped := second.at.Round(0).Sub(first.at.Round(0)) - awake
	gained := second.offset - first.offset + stepped
	return clockCheck{
		OffsetSeconds: second.offset.Seconds(), OverSeconds: awake.Seconds(), RoundTripSeconds: second.trip.Seconds(),
		RatePercent:      100 * gained.Seconds() / awake.Seconds(),
		UncertainPercent: 100 * (first.trip + second.trip).Seconds() / 2 / awake.Seconds(),
	}, nil
}

// mostRate is the difference of the clocks' rates that a lease's default margin covers, in percent, with room to spare.
const mostRate = 5

func (c clockCheck) judge() (stores.Finding, bool) {
	off := max(c.RatePercent, -c.RatePercent) - c.UncertainPercent
	if off < mostRate {
		return stores.Finding{}, false
	}
	return stores.Finding{
		Setting: "clock", Value: fmt.Sprintf("%+.1f %%", c.RatePercent),
		Meaning: "the server's clock and this machine's run at different rates; a lease's margin (a tenth of its TTL by default) must cover that",
		Remedy:  "mend the time synchronisation of both machines, or raise the margin",
	}, true
}

func (a *app) showCheck(c checked) error {
	if a.json {
		return a.emit(c)
	}
	g := grid{{"store", c.Store}, {"server", c.Server}}
	for _, d := range c.Details {
		g = append(g, []string{d.Name, printable(d.Value, 0)})
	}
	if c.Clock.OverSeconds > 0 {
		g = append(g, []string{"clock", fmt.Sprintf("%+.3f s from ours (harmless); its rate differs by %+.2f %% (± %.2f)", c.Clock.OffsetSeconds, c.Clock.RatePercent, c.Clock.UncertainPercent)})
	}
	g.print(a.Out)
	for _, f := range c.Findings {
		grade := "warning"
		if f.Fatal {
			grade = "FATAL"
		}
		fmt.Fprintf(a.Out, "\n%s: %s %s\n  %s\n  -> %s\n", grade, f.Setting, printable(f.Value, 0), f.Meaning, f.Remedy)
	}
	verdict := "\nusable, nothing to remark"
	switch {
	case !c.Usable:
		verdict = "\nnot usable as it is"
	case len(c.Findings) > 0:
		verdict = fmt.Sprintf("\nusable, with %s", count(len(c.Findings), "warning"))
	}
	_, err := fmt.Fprintln(a.Out, verdict)
	return err
}
