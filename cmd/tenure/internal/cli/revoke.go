package cli

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/lease"
)

func quoted(s string) string { return strconv.Quote(s) }

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func (a *app) revoke() *cobra.Command {
	var timeout time.Duration
	var yes bool
	cmd := &cobra.Command{
		Use: "revoke KEY", Short: "Take a key from its owner (asks first)", Args: one("KEY"),
		Long: `The break-glass: marks the lease of a key as revoked. Its owner learns of it with its next renewal or
at once by a hint, and lets go: an application cancels the work without a drain. A "tenure run" sends its
command the drain signal, and the command may go on until the deadline that its lease had, when it is
killed; then "tenure run" waits for the key again (--once ends it). Others are granted the key when the
owner has let go, or when the owner's session would have expired.

To move work in an orderly way use "tenure drain". It asks before it does anything; --yes answers.
` + exitHelp,
		ValidArgsFunction: a.keys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := lease.CheckKey(args[0]); err != nil {
				return err
			}
			_, _, interactive := isTerminal(a.In)
			if !yes && (!interactive || a.json) {
				return usage("revoke asks first, and there is nobody to ask: give --yes")
			}
			return a.revokeKey(cmd, args[0], timeout, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	timeoutFlag(cmd, &timeout, 5*time.Second, "how long to wait for the store")
	return cmd
}

func (a *app) revokeKey(cmd *cobra.Command, key string, timeout time.Duration, yes bool) error {
	ctx, cancel, err := bounded(cmd, timeout)
	if err != nil {
		return err
	}
	w, err := a.holder(ctx, cmd, key)
	cancel()
	if err != nil {
		return err
	}
	if !w.Held {
		return fail(exitNo, "nobody holds %q: there is nothing to revoke", key)
	}
	if !yes && !a.confirmed(fmt.Sprintf("%s.\n%s Revoke it? [y/N] ", describe(w), consequence(w))) {
		return fail(exitNo, "nothing was revoked")
	}
	ctx, cancel, err = bounded(cmd, timeout) // a new one: people take their time
	if err != nil {
		return err
	}
	defer cancel()
	s, err := a.open(cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Revoke(ctx, key); err != nil {
		return err
	}
	return a.say(done{Done: true, Fleet: a.cfg.Fleet, Key: key, Owner: w.Owner, Token: w.Token}, "revoked: %s has to let go of %q (token %d)", short(w.Owner), key, w.Token)
}

// consequence is what a revocation does to the work.
func consequence(w workload) string {
	if strings.HasPrefix(w.Info, runInfo) {
		return "Its command gets the drain signal at once, and is killed at the deadline that its lease has now."
	}
	return "Its work is cancelled at once, without a drain."
}

// confirmed asks on the terminal.
func (a *app) confirmed(question string) bool {
	fmt.Fprint(a.Err, question)
	answer, _ := bufio.NewReader(a.In).ReadString('\n') // no answer is a no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
