package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
	"github.com/tenure-go/tenure/lease"
)

// statusOptions are the flags of status.
type statusOptions struct {
	watch    bool
	interval time.Duration
	search   string
	timeout  time.Duration
}

func (a *app) status() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use: "status", Short: "Show who is alive and who holds what", Args: no,
		Long: `Shows the instances of a fleet and its workloads: owner, fencing token, state, since when, and how
long the owner's records still live unless they are extended.

A state is what the owner publishes: active, transferring (it winds down), inactive (it has let
go). "held" is a lease whose owner publishes nothing, "unowned" a state whose lease is gone.

With --watch the view stays and follows the fleet until SIGINT or SIGTERM, which end it with status 130;
with --json as well, it is one object a line.
` + exitHelp,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.showStatus(cmd, o) },
	}
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "stay, and follow the fleet")
	cmd.Flags().DurationVar(&o.interval, "interval", time.Second, "how often to look with --watch; hints of the store come in between")
	cmd.Flags().StringVar(&o.search, "search", "", "show only workloads whose key, owner or state contains `TEXT`")
	timeoutFlag(cmd, &o.timeout, 5*time.Second, "how long to wait for the store")
	return cmd
}

func (a *app) showStatus(cmd *cobra.Command, o statusOptions) error {
	if cmd.Flags().Changed("interval") && !o.watch {
		return usage("--interval has no effect without --watch: give both or neither")
	}
	if o.interval < 100*time.Millisecond {
		return usage("--interval %v: must be at least 100ms", o.interval)
	}
	ctx, cancel, err := bounded(cmd, o.timeout)
	if err != nil {
		return err
	}
	defer cancel()
	s, err := a.open(cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	v, err := look(ctx, s, a.cfg.Fleet)
	if err != nil {
		return err
	}
	v = v.only(o.search)
	if o.watch {
		return a.follow(cmd.Context(), s, o, v)
	}
	if a.json {
		return a.emit(v)
	}
	_, err = fmt.Fprintln(a.Out, strings.Join(v.lines(), "\n"))
	return err
}

// only keeps the workloads that contain the text.
func (v view) only(text string) view {
	if text == "" {
		return v
	}
	kept := []workload{}
	for _, w := range v.Workloads {
		if strings.Contains(w.Key, text) || strings.Contains(w.Name, text) || strings.Contains(w.Owner, text) || strings.Contains(w.State, text) {
			kept = append(kept, w)
		}
	}
	v.Workloads = kept
	return v
}

// lines is the view for people.
func (v view) lines() []string {
	lost := 0
	for _, w := range v.Workloads {
		if w.State == unowned {
			lost++
		}
	}
	head := fmt.Sprintf("fleet %s at %s: %s, %s", printable(v.Fleet, 40), v.Store, count(len(v.Instances), "instance"), count(len(v.Workloads), "workload"))
	if lost > 0 {
		head += fmt.Sprintf(", %d without an owner", lost)
	}
	out := []string{head}
	if len(v.Instances) > 0 {
		g := grid{{"INSTANCE", "STATE", "WORKLOADS", "ZONE", "VERSION", "ADDRESS", "JOINED", "TTL LEFT"}}
		for _, m := range v.Instances {
			g = append(g, []string{
				short(m.ID), m.State, strconv.Itoa(m.Workloads), dash(m.Zone), dash(m.Version), dash(m.Address), ago(m.JoinedAt, v.At), left(seconds(m.TTLLeftSeconds)),
			})
		}
		out = append(append(out, ""), g.lines()...)
	}
	if len(v.Workloads) > 0 {
		g := grid{{"WORKLOAD", "STATE", "OWNER", "TOKEN", "SINCE", "TTL LEFT", "INFO"}}
		for _, w := range v.Workloads {
			g = append(g, []string{
				named(w.Key, 40), w.State, dash(short(w.Owner)), strconv.FormatUint(w.Token, 10), ago(w.Since, v.At), left(seconds(w.TTLLeftSeconds)), printable(w.Info, 60),
			})
		}
		out = append(append(out, ""), g.lines()...)
	}
	return out
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return printable(s, 32)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// follow shows the view until the context ends.
func (a *app) follow(ctx context.Context, s stores.Handle, o statusOptions, v view) error {
	hints := make(chan struct{}, 1)
	watching, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		listen(watching, s, hints)
	}()
	defer func() { stop(); <-ended }()
	screen := a.screen()
	defer screen.close()
	tick := time.NewTicker(o.interval)
	defer tick.Stop()
	var trouble error
	for ctx.Err() == nil {
		if err := screen.show(v, trouble); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return quietly(exitInterrupted)
		case <-tick.C:
		case <-hints:
		}
		looking, cancel := context.WithTimeout(ctx, o.timeout)
		var next view
		if next, trouble = look(looking, s, a.cfg.Fleet); trouble == nil {
			v = next.only(o.search)
		}
		cancel()
	}
	return quietly(exitInterrupted) // as people end it: there is nothing to say
}

// listen passes the store's hints on, and tries again where they are interrupted.
func listen(ctx context.Context, s stores.Handle, hints chan<- struct{}) {
	for ctx.Err() == nil {
		_ = s.Watch(ctx, func(lease.Change) {
			select {
			case hints <- struct{}{}:
			default:
			}
		})
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// screen is where a followed view is shown: a terminal, lines of JSON, or one view after the other.
type screen struct {
	app  *app
	live bool
}

func (a *app) screen() *screen {
	_, _, live := isTerminal(a.Out)
	s := &screen{app: a, live: live && !a.json}
	if s.live {
		io.WriteString(a.Out, "\x1b[?1049h\x1b[?25l") //nolint:errcheck // a terminal
	}
	return s
}

func (s *screen) close() {
	if s.live {
		io.WriteString(s.app.Out, "\x1b[?25h\x1b[?1049l") //nolint:errcheck // a terminal
	}
}

func (s *screen) show(v view, trouble error) error {
	if s.app.json && trouble != nil {
		return nil //nolint:nilerr // a view that is missing says it
	}
	if s.app.json {
		return s.app.emit(v)
	}
	lines := v.lines()
	if trouble != nil {
		_, text := classify(trouble)
		lines = append([]string{"! " + printable(strings.Join(strings.Fields(text), " "), 0), "! what follows is of " + v.At.Format(time.TimeOnly)}, lines...)
	}
	if !s.live {
		_, err := fmt.Fprintf(s.app.Out, "%s\n\n", strings.Join(lines, "\n"))
		return err
	}
	width, height, _ := isTerminal(s.app.Out)
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, line := range lines {
		if i == height-1 {
			fmt.Fprintf(&b, "… %d more lines; --search narrows them down\x1b[K\r\n", len(lines)-i)
			break
		}
		b.WriteString(printable(line, width) + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	_, err := io.WriteString(s.app.Out, b.String())
	return err
}
