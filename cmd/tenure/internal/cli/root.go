package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
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
	cmd := newRoot(&app{Streams: s})
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		if ctx.Err() != nil && !isStatus(err) {
			err = fail(exitInterrupted, "interrupted")
		}
		return complain(s.Err, err)
	}
	return exitDone
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
				return usage("unknown command %q: \"tenure help\" lists them", args[0])
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
	f.BoolVar(&a.json, "json", false, "print JSON")
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
		return usage("unexpected argument %q: %q takes none (--help lists the flags)", args[0], c.CommandPath())
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
		return usage("unexpected argument %q: %q takes one %s", args[1], c.CommandPath(), name)
	}
}

// resolve fills in what the environment says.
func (a *app) resolve(cmd *cobra.Command) {
	for _, v := range []struct {
		flag, name string
		value      *string
	}{{"store", "TENURE_STORE", &a.cfg.URL}, {"fleet", "TENURE_FLEET", &a.cfg.Fleet}} {
		if text := os.Getenv(v.name); text != "" && !cmd.Flags().Changed(v.flag) {
			*v.value = text
		}
	}
}

// open opens the store that the flags name. It sends nothing.
func (a *app) open(cmd *cobra.Command) (stores.Handle, error) {
	a.resolve(cmd)
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
