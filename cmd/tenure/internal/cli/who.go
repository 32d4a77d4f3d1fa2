package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/lease"
)

func (a *app) who() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "who KEY", Short: "Show who holds a key, with its fencing token", Args: one("KEY"),
		Long: `Prints the owner of a key: its instance, its address where it has one, the fencing token and the
state. The exit status is 1 where nobody holds the key.

For a script that only wants the address of the leader:
  tenure who nightly --json | jq -r .address
` + exitHelp,
		ValidArgsFunction: a.keys,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel, err := bounded(cmd, timeout)
			if err != nil {
				return err
			}
			defer cancel()
			w, err := a.holder(ctx, cmd, args[0])
			if err != nil {
				return err
			}
			if !w.Held {
				if a.json {
					if err := a.emit(w); err != nil {
						return err
					}
				}
				return fail(exitNo, "nobody holds %q", args[0])
			}
			return a.say(w, "%s", describe(w))
		},
	}
	timeoutFlag(cmd, &timeout, 5*time.Second, "how long to wait for the store")
	return cmd
}

// describe is a held workload in one line.
func describe(w workload) string {
	text := printable(w.Owner, 0)
	if w.Address != "" {
		text += " at " + printable(w.Address, 0)
	}
	return text + " holds " + quoted(w.Key) + ": " + w.State + ", token " + number(w.Token) + ", since " + w.Since.Local().Format(time.DateTime)
}

// holder looks one key up.
func (a *app) holder(ctx context.Context, cmd *cobra.Command, key string) (workload, error) {
	if err := lease.CheckKey(key); err != nil {
		return workload{}, err
	}
	s, err := a.open(cmd)
	if err != nil {
		return workload{}, err
	}
	defer s.Close()
	v, err := look(ctx, s, a.cfg.Fleet)
	if err != nil {
		return workload{}, err
	}
	for _, w := range v.Workloads {
		if w.Key == key {
			return w, nil
		}
	}
	return workload{Key: key, State: "free"}, nil
}

// keys completes keys that are held.
func (a *app) keys(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(cmd, func(v view) (out []string) {
		for _, w := range v.Workloads {
			if named(w.Key, 0) == w.Key { // a tab or a line feed has a meaning of its own here
				out = append(out, w.Key)
			}
		}
		return out
	})
}

// instances completes instance IDs.
func (a *app) instances(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(cmd, func(v view) (out []string) {
		for _, m := range v.Instances {
			out = append(out, m.ID)
		}
		return out
	})
}

// complete asks the store, for as long as somebody who has pressed a key may wait.
func (a *app) complete(cmd *cobra.Command, names func(view) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	s, err := a.open(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer s.Close()
	v, err := look(ctx, s, a.cfg.Fleet)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names(v), cobra.ShellCompDirectiveNoFileComp
}
