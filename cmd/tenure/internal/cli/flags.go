package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// misread tells of a flag that cannot be read: the packages that read values speak of themselves, not of the flag.
func misread(c *cobra.Command, err error) error {
	text := strings.TrimPrefix(err.Error(), "pflag: ")
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		text = fmt.Sprintf("--%s %q: must be %s", bad.GetFlag().Name, bad.GetValue(), kind(bad.GetFlag()))
	}
	if bad, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		text = fmt.Sprintf("--%s needs a value behind it: %s", bad.GetFlag().Name, kind(bad.GetFlag()))
	}
	return usage("%s; \"%s --help\" lists the flags", text, c.CommandPath())
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
		if err == nil && f.Changed && f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "search" {
			err = usage("--%s \"\": must not be empty; give a value, or leave it out for the default", f.Name)
		}
	})
	if err == nil && (a.cfg.MaxTTL < time.Millisecond || a.cfg.MaxTTL > 24*time.Hour) {
		err = usage("--max-ttl %v: must be between 1ms and 24h, the same on all hosts", a.cfg.MaxTTL)
	}
	return err
}

// strict makes bad input of any command, cobra's own included, an error of its own: a stray argument, a flag that nothing can
// be done with, and a command that lacks its second word.
func (a *app) strict(cmd *cobra.Command) {
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
				return inner(c, args)
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
				return usage("unknown command %q: \"tenure help\" lists them", strings.Join(args, " "))
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
