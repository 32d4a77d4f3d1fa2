package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
	"github.com/tenure-go/tenure/lease"
)

// misread tells of a flag that cannot be read: the packages that read values speak of themselves, not of the flag.
func misread(c *cobra.Command, err error) error {
	text := strings.TrimPrefix(err.Error(), "pflag: ")
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		text = fmt.Sprintf("--%s %s: %s", bad.GetFlag().Name, cut(bad.GetValue()), wrong(bad))
	}
	if bad, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		text = fmt.Sprintf("--%s needs a value behind it: %s", bad.GetFlag().Name, kind(bad.GetFlag()))
	}
	return usage("%s; \"%s --help\" lists the flags", text, c.CommandPath())
}

// wrong is what a flag has against a value.
func wrong(bad *pflag.InvalidValueError) string {
	f := bad.GetFlag()
	switch {
	case f.Name == "max-ttl" && isTime(bad.GetValue()):
		return ttlRange
	case f.Value.Type() == "duration" && isTime(bad.GetValue()):
		return "is out of range; no time may be above 2562047h"
	case errors.Is(bad, strconv.ErrRange) && f.Value.Type() == "uint64" && !strings.HasPrefix(bad.GetValue(), "-"):
		return fmt.Sprintf("is out of range; must be at most %d", uint64(math.MaxUint64))
	case errors.Is(bad, strconv.ErrRange) && f.Value.Type() == "int":
		return "is out of range; must be " + kind(f)
	}
	return "must be " + kind(f)
}

// ttlRange is what --max-ttl must be.
const ttlRange = "must be between 1ms and 24h, the same on all hosts"

// isTime tells whether a text is written as a time: package time has the same words for one that is out of its range.
func isTime(text string) bool {
	ok, _ := regexp.MatchString(`^[+-]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`, text) // the expression is right
	return ok
}

// counted is the value of a flag that knows how often it was given, before and behind the command's name: of two values the first
// would be forgotten without a word. It is no error by itself, since a shell's completion reads all flags twice.
type counted struct {
	pflag.Value
	given int
}

// Set implements pflag.Value.
func (v *counted) Set(text string) error {
	v.given++
	return v.Value.Set(text)
}

// countGiven has a flag count.
func countGiven(f *pflag.Flag) {
	if _, done := f.Value.(*counted); done {
		return
	}
	f.Value = &counted{Value: f.Value}
	if f.DefValue == "0s" { // what the list of flags takes for no default, whatever the kind of value
		f.DefValue = "0"
	}
}

// kind is what a flag takes, with an example.
func kind(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "duration":
		return "a time with its unit, such as 500ms, 10s or 1m30s"
	case "bool":
		return "true or false, as in --" + f.Name + "=true"
	case "int":
		return "a whole number, such as 8"
	case "uint64":
		return "a whole number from 0 up, such as 7"
	}
	return "a text, as in --" + f.Name + "=TEXT"
}

// checkFlags refuses what no command can use. A text that was given empty is a variable that was not set, more often than
// not, and would read as if the flag had been left out.
func (a *app) checkFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { // also what was given before the command's name
		if v, ok := f.Value.(*counted); ok && err == nil && v.given > 1 {
			err = usage("--%s is given %d times: give it once", f.Name, v.given) // its values may hold a password
		}
		if err == nil && f.Changed && f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "search" {
			err = usage("--%s \"\": must not be empty; %s", f.Name, fill(f.Name))
		}
	})
	if err == nil {
		err = checkEffect(cmd)
	}
	if _, bad := postgresstore.SchemaSQL(a.cfg.Schema); err == nil && bad != nil { // it looks at the name
		err = usage("--schema %s: %s", cut(a.cfg.Schema), remedy(bad))
	}
	if err == nil && (a.cfg.MaxTTL < time.Millisecond || a.cfg.MaxTTL > 24*time.Hour) {
		err = usage("--max-ttl %v: %s", a.cfg.MaxTTL, ttlRange)
	}
	return err
}

// remedy is what the contracts' own checks advise.
func remedy(err error) string {
	if bad, ok := errors.AsType[*lease.InvalidError](err); ok {
		return bad.Remedy
	}
	return err.Error()
}

// fill is what to do about a flag that was given empty: not all of them may be left out.
func fill(name string) string {
	switch name {
	case "key":
		return "name what runs on one host at a time, as in --key nightly"
	case "store":
		return "give the store's URL, as in redis://127.0.0.1:6379/0, or leave it out and set TENURE_STORE"
	case "instance":
		return "give an instance's ID or its beginning; \"tenure status\" lists them"
	case "url":
		return "give the URL of the drain handler, as in http://127.0.0.1:8080/drain"
	case "token-file":
		return "name the file with the handler's token, or leave it out and set TENURE_DRAIN_TOKEN"
	case "name":
		return "give a name, or leave it out for the key"
	case "run":
		return "give the beginning of a check's name, or leave it out for all checks"
	}
	return "give a value, or leave it out for the default"
}

// checkEffect refuses flags that a command would ignore: whoever gives them means something by them. The environment is the
// same for all commands.
func checkEffect(cmd *cobra.Command) error {
	given := func(name string) bool { f := cmd.Flags().Lookup(name); return f != nil && f.Changed }
	fleet := []string{"fleet", "prefix", "schema", "max-ttl"}
	idle, why := []string(nil), ""
	switch name := cmd.Name(); {
	case name == "verify":
		idle, why = fleet, "which makes scratch fleets in a place of its own"
	case name == "drain" && given("url") && !given("instance"):
		idle, why = append(fleet, "store"), "with --url, which asks the instance itself"
	case name == "migrate" && given("print"):
		idle, why = []string{"store", "fleet", "prefix", "max-ttl", "timeout"}, "with --print, which needs no store"
	case name == "version", name == "healthcheck":
		idle, why = append(fleet, "store"), "which uses no store"
	}
	for _, flag := range idle {
		if given(flag) {
			return usage("--%s has no effect on %q %s: leave it out", flag, cmd.CommandPath(), why)
		}
	}
	return nil
}

// strict makes bad input of any command, cobra's own included, an error of its own: a stray argument, a flag that nothing can
// be done with, and a command that lacks its second word.
func (a *app) strict(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.PersistentFlags(), cmd.Flags()} {
		flags.VisitAll(countGiven)
	}
	for _, c := range cmd.Commands() {
		a.strict(c)
		if !c.Runnable() { // only then are its arguments looked at
			c.RunE = incomplete
		}
		if inner := c.RunE; inner != nil && !c.DisableFlagParsing {
			c.RunE = func(c *cobra.Command, args []string) error {
				if err := a.checkFlags(c); err != nil {
					return err
				}
				began := time.Now()
				return late(c, began, inner(c, args))
			}
		}
		if inner := c.Args; inner != nil {
			c.Args = func(c *cobra.Command, args []string) error {
				err := inner(c, args)
				if err != nil && !isStatus(err) {
					err = usage("%s: \"%s --help\" says how", err, c.CommandPath())
				}
				return err
			}
		}
	}
}

// late names the time that the store had, where the command's own has passed.
func late(c *cobra.Command, began time.Time, err error) error {
	f := c.Flags().Lookup("timeout")
	if err == nil || f == nil || isStatus(err) || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	timeout, bad := time.ParseDuration(f.Value.String())
	if status, _ := classify(err); status != exitStore || bad != nil || time.Since(began) < timeout {
		return err
	}
	return fail(exitStore, "the store did not answer within %v; check the URL and the server (\"tenure check\"), or raise --timeout", timeout)
}

// incomplete is a command that does nothing by itself.
func incomplete(c *cobra.Command, _ []string) error {
	var words []string
	for _, sub := range c.Commands() {
		words = append(words, sub.Name())
	}
	return usage("%q is not complete: write one of %s behind it, as in %q", c.CommandPath(), strings.Join(words, ", "), c.CommandPath()+" "+words[0])
}

// help is cobra's help command, which takes a topic that does not exist for success.
func (a *app) help() *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Help about any command",
		Long: "Shows what a command does and its flags, as --help behind the command does.\n" + exitHelp,
		Args: func(c *cobra.Command, args []string) error {
			if _, rest, err := c.Root().Find(args); err != nil || len(rest) > 0 {
				return usage("unknown command %s: \"tenure help\" lists them", cut(strings.Join(args, " ")))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			topic, _, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			topic.InitDefaultHelpFlag() // so that it is listed
			return topic.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			topic, _, err := c.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			for _, sub := range topic.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
