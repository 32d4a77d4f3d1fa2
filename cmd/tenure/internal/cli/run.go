package cli

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// runOptions are the flags of run, and what follows from them.
type runOptions struct {
	key, name    string
	ttl, margin  time.Duration
	grace        time.Duration
	drainSignal  string
	drainTimeout time.Duration
	restart      string
	once         bool
	wait, noWait bool
	quiet        bool

	policy runner.Restart
	timing lease.Timing
	signal int
	path   string
	argv   []string
}

const runHelp = `Runs a command on one host of many at a time: on all hosts the same line, and the command runs where the
key is held. The command gets TENURE_KEY, TENURE_TOKEN (the fencing token: it only ever grows),
TENURE_INSTANCE and TENURE_FLEET in its environment, the standard streams as they are, and every signal
that "tenure run" gets, for its whole process group.

When the lease cannot be renewed, the command gets the drain signal --grace before its deadline, and is
killed with all its descendants at the deadline, a margin before anybody else can have the key. A guardian
process sees to that, also when "tenure run" itself was killed or stopped.

When the command ends by itself, "tenure run" ends with its status, unless --restart says otherwise. When
the lease was lost, it waits for the key again, unless --once says otherwise. With --json what it says is
one object a line on standard error, the failure that ends it included: standard output is the command's.
SIGTERM and SIGINT drain: the
command gets the drain signal and has --drain-timeout, while the lease is kept; a second one kills it.

  tenure run --store redis://127.0.0.1:6379/0 --key nightly -- ./report.sh --verbose

Exit status:
  the command's own; 128 and the number of the signal where a signal ended it; 0 where it was stopped
  before the command ran; or
  2    bad input, or the store's server refused the login; nothing was started
  69   --no-wait, and the store did not answer
  70   the command could not be guarded, or did not end
  75   --no-wait, and somebody else holds the key, or grants are frozen since the fleet is new or the store
       has lost data; --once, and the lease was lost
  126  the command is no program that this system can execute; the key was let go
  127  the command, or the interpreter of a script, was gone when it was to be started; the key was let go
`

func (a *app) run() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "run --key KEY [flags] -- CMD [ARGS...]", Short: "Run a command on one host of many at a time", Long: runHelp,
		Args: func(c *cobra.Command, args []string) error {
			switch dash := c.ArgsLenAtDash(); {
			case dash < 0:
				return usage("the command is missing: write it behind --, as in tenure run --key nightly -- ./report.sh")
			case dash > 0:
				return usage("unexpected argument %s before --: flags with a value are written --flag=value, and the command comes behind --", cut(args[0]))
			case len(args) == 0:
				return usage("nothing follows --: write the command there, as in tenure run --key nightly -- ./report.sh")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.resolve(cmd, args, a.cfg.MaxTTL); err != nil {
				return err
			}
			return a.lead(cmd, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", "the `KEY` to hold while the command runs; required")
	f.StringVar(&o.name, "name", "", "a `NAME` for people in \"tenure status\" (default: the key)")
	f.DurationVar(&o.ttl, "ttl", 10*time.Second, "how long after a crash the key stays taken; at most --max-ttl")
	f.DurationVar(&o.margin, "margin", 0, "how long before the lease's end the command is dead (default a tenth of --ttl)")
	f.DurationVar(&o.grace, "grace", 0, "how long before its deadline the command is asked to stop; 0s: it is killed unasked (default a tenth of --ttl)")
	f.StringVar(&o.drainSignal, "drain-signal", "TERM", "the signal that asks the command to stop, by `NAME` or number")
	f.DurationVar(&o.drainTimeout, "drain-timeout", 30*time.Second, "how long the command may take to stop when it is drained")
	f.StringVar(&o.restart, "restart", "never", "run the command again after it ended by itself: never, on-failure or always")
	f.Lookup("restart").NoOptDefVal = "always"
	f.BoolVar(&o.once, "once", false, "end when the lease is lost, instead of waiting for the key again")
	f.BoolVar(&o.wait, "wait", true, "wait while somebody else holds the key")
	f.BoolVar(&o.noWait, "no-wait", false, "end with status 75 where somebody else holds the key")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing but errors")
	return cmd
}

// resolve checks everything that was given, before anything is done.
func (o *runOptions) resolve(cmd *cobra.Command, args []string, maxTTL time.Duration) error {
	changed := cmd.Flags().Changed
	if err := lease.CheckUserKey(o.key); err != nil {
		if o.key == "" {
			return usage("--key is missing: name what runs on one host at a time, as in --key nightly")
		}
		return err
	}
	switch {
	case changed("name") && lease.CheckKey(o.name) != nil:
		return usage("--name %s: must be 1 to 512 bytes of UTF-8; leave it out for the key", cut(o.name))
	case changed("wait") && changed("no-wait") && o.wait == o.noWait:
		return usage("--wait and --no-wait contradict each other: give one of them")
	case o.once && o.restart != "never":
		return usage("--once and --restart contradict each other: give one of them")
	case changed("drain-timeout") && o.drainTimeout <= 0:
		return usage("--drain-timeout %v: must be above 0", o.drainTimeout)
	case o.ttl > maxTTL:
		return usage("--ttl %v: must be at most --max-ttl %v; raise --max-ttl on all hosts first, then --ttl", o.ttl, maxTTL)
	case changed("margin") && o.margin <= 0:
		return usage("--margin %v: must be above 0; leave it out for a tenth of --ttl", o.margin)
	}
	o.noWait = o.noWait || !o.wait
	if o.name == "" {
		o.name = o.key
	}
	policies := map[string]runner.Restart{"never": runner.Never, "on-failure": runner.OnFailure, "always": runner.Always}
	var ok bool
	if o.policy, ok = policies[o.restart]; !ok {
		return usage("--restart %s: must be never, on-failure or always", cut(o.restart))
	}
	if o.signal, ok = signalNumber(o.drainSignal); !ok {
		return usage("--drain-signal %s: no signal of this system; write a name such as TERM, INT or USR1, or a number", cut(o.drainSignal))
	}
	if cannotBeHandled(o.signal) {
		return usage("--drain-signal %q: no command can handle it, so that it could not stop in order; write one such as TERM, INT or USR1", o.drainSignal)
	}
	if err := o.resolveTiming(changed("grace")); err != nil {
		return err
	}
	var err error
	o.path, err = program(args[0])
	o.argv = slices.Clone(args)
	return err
}

func (o *runOptions) resolveTiming(graceGiven bool) error {
	if o.ttl <= 0 {
		return usage("--ttl %v: must be above 0", o.ttl)
	}
	timing, err := lease.Timing{LeaseTTL: o.ttl, Margin: o.margin, DrainTimeout: o.drainTimeout}.Resolve()
	if bad, ok := errors.AsType[*lease.InvalidError](err); ok {
		flags := strings.NewReplacer("Timing.LeaseTTL", "--ttl", "Timing.Margin", "--margin", "Timing.DrainTimeout", "--drain-timeout",
			"LeaseTTL", "--ttl", "Margin", "--margin", "CallTimeout", "the time of a call", "RenewInterval*(1+Jitter)", "the time between renewals")
		return usage("%s %s: %s", flags.Replace(bad.Field), bad.Value, flags.Replace(bad.Remedy))
	}
	if err != nil {
		return err
	}
	o.timing = timing
	if !graceGiven {
		o.grace = min(o.ttl/10, timing.Outage()/2)
	}
	if o.grace < 0 || o.grace >= timing.Outage() {
		return usage("--grace %v: must be between 0s and what a late renewal leaves of the lease, which is less than %v; raise --ttl or lower --grace", o.grace, timing.Outage())
	}
	return nil
}
