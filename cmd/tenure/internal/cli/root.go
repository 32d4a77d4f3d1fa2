package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
	"github.com/tenure-go/tenure/lease"
)

// Streams are where the program reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// app is what all commands share: the streams and the global flags.
type app struct {
	Streams
	json bool
	cfg  stores.Config
}

const about = `Tenure runs background work on one instance of many at a time. This program operates
fleets from a shell.

The store is a URL, in --store or in the environment variable TENURE_STORE, which keeps a
password off the process list:
  redis://user:password@host:6379/0         rediss:// with TLS
  redis+sentinel://host1,host2/mymaster     the Sentinels' hosts and the master's name
  redis+cluster://host1,host2
  postgres://user:password@host/database
`

// Main runs the command line and returns the exit status.
func Main(args []string, s Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := &answer{Writer: s.Out}
	s.Out = out
	a := &app{Streams: s}
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && ctx.Err() != nil && !isStatus(err) {
		err = fail(exitInterrupted, "interrupted")
	}
	if out.err != nil && (err == nil || isQuiet(err)) {
		err = fail(exitNo, "standard output: %v; what was to be printed there is not complete", out.err)
	}
	if err == nil {
		return exitDone
	}
	a.json = a.json || asksJSON(args) // what cannot be read may stand before it
	return a.end(cmd, err, out)
}

// end tells of an error in one line. Under --json it is the answer as well, where there is none yet. Of run the standard
// output belongs to the command: there the object takes the place of the line.
func (a *app) end(cmd *cobra.Command, err error, out *answer) int {
	status, text := classify(err)
	said := failure{oneLine(text), status}
	switch {
	case text == "" || !a.json:
	case cmd.Name() == "run":
		_ = (&app{Streams: Streams{Out: a.Err}}).emit(said) // nobody may be listening
		return status
	case !out.said && out.err == nil:
		_ = a.emit(said) // the line below says the same
	}
	return complain(a.Err, err)
}

// asksJSON tells whether --json is among the flags.
func asksJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// isQuiet tells of an end after everything was said.
func isQuiet(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.text == ""
}

func isStatus(err error) bool {
	_, ok := errors.AsType[*statusError](err)
	return ok
}

func newRoot(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tenure", Short: "Operate fleets of Tenure from a shell", Long: about + exitHelp,
		SilenceErrors: true, SilenceUsage: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %s: \"tenure help\" lists them", cut(args[0]))
			}
			return nil
		},
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		TraverseChildren: true,
	}
	cmd.SetIn(a.In)
	cmd.SetOut(a.Out)
	cmd.SetErr(a.Err)
	cmd.SetFlagErrorFunc(misread)
	f := cmd.PersistentFlags()
	f.StringVar(&a.cfg.URL, "store", "", "`URL` of the store (environment: TENURE_STORE)")
	f.StringVar(&a.cfg.Fleet, "fleet", "default", "the fleet's `NAME` (environment: TENURE_FLEET)")
	f.StringVar(&a.cfg.Prefix, "prefix", "", "what the fleet's keys in Redis begin with (default \"tenure\")")
	f.StringVar(&a.cfg.Schema, "schema", "", "the schema in PostgreSQL (default \"tenure\")")
	f.DurationVar(&a.cfg.MaxTTL, "max-ttl", lease.DefaultMaxTTL, "the fleet's longest lease TTL; the same everywhere")
	f.BoolVar(&a.json, "json", false, "print JSON; a failure is an object too")
	cmd.AddCommand(a.run(), a.status(), a.who(), a.drain(), a.revoke(), a.provision(), a.migrate(), a.verify(), a.check(), a.healthcheck(), a.version())
	cmd.InitDefaultCompletionCmd()
	cmd.SetHelpCommand(a.help())
	cmd.InitDefaultHelpCmd()
	a.strict(cmd)
	return cmd
}

// no refuses arguments.
func no(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("unexpected argument %s: %q takes none (--help lists the flags)", cut(args[0]), c.CommandPath())
	}
	return nil
}

// one demands exactly one argument.
func one(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usage("%s is missing: write %q", name, c.CommandPath()+" "+name)
		case 1:
			return nil
		}
		return usage("unexpected argument %s: %q takes one %s", cut(args[1]), c.CommandPath(), name)
	}
}

// resolve fills in what the environment says. A variable that is set and empty is refused as an empty flag is.
func (a *app) resolve(cmd *cobra.Command) error {
	for _, v := range []struct {
		flag, name string
		value      *string
	}{{"store", "TENURE_STORE", &a.cfg.URL}, {"fleet", "TENURE_FLEET", &a.cfg.Fleet}} {
		text, set := os.LookupEnv(v.name)
		switch {
		case !set || cmd.Flags().Changed(v.flag):
		case text == "":
			return usage("%s \"\": must not be empty; give it a value, or unset it", v.name)
		default:
			*v.value = text
		}
	}
	return nil
}

// open opens the store that the flags name. It sends nothing.
func (a *app) open(cmd *cobra.Command) (stores.Handle, error) {
	if err := a.resolve(cmd); err != nil {
		return nil, err
	}
	return stores.Open(a.cfg)
}

// bounded is a context for one command that talks to a store.
func bounded(cmd *cobra.Command, timeout time.Duration) (context.Context, context.CancelFunc, error) {
	if timeout <= 0 {
		return nil, nil, usage("--timeout %v: must be above 0", timeout)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	return ctx, cancel, nil
}

// timeoutFlag adds --timeout.
func timeoutFlag(cmd *cobra.Command, d *time.Duration, value time.Duration, what string) {
	cmd.Flags().DurationVar(d, "timeout", value, what)
}
