package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
)

// drainOptions are the flags of drain.
type drainOptions struct {
	instance  string
	url       string
	tokenFile string
	timeout   time.Duration
}

func (a *app) drain() *cobra.Command {
	var o drainOptions
	cmd := &cobra.Command{
		Use: "drain (--instance ID | --url URL)", Short: "Drain an instance, and wait until nothing runs there", Args: no,
		Long: `Marks an instance as draining: the fleet takes its workloads over, and it starts none any more, for
the rest of its life. Returns when it has let go of everything, and with status 4 after --timeout,
with what still runs. The drain goes on then; a second call joins it.

  --instance ID  through the store. The beginning of an ID is enough; "tenure status" lists them.
  --url URL      through the instance's own drain handler, as a preStop hook does. It sends POST and
                 the token of --token-file or TENURE_DRAIN_TOKEN. The handler has a timeout as well.

"tenure run" is no member of the fleet: it is drained by a SIGTERM to its process.
` + exitHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.instance == "" && o.url == "":
				return usage("what to drain is missing: give --instance ID or --url URL")
			case o.instance != "" && o.url != "":
				return usage("--instance and --url are two ways to the same end: give one of them")
			case o.tokenFile != "" && o.url == "":
				return usage("--token-file is for --url: leave it out with --instance")
			case o.url != "":
				return a.drainURL(cmd, o)
			}
			return a.drainInstance(cmd, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.instance, "instance", "", "the instance's `ID`, or its beginning")
	f.StringVar(&o.url, "url", "", "`URL` of the instance's drain handler")
	f.StringVar(&o.tokenFile, "token-file", "", "`FILE` with the handler's token (environment: TENURE_DRAIN_TOKEN)")
	timeoutFlag(cmd, &o.timeout, 65*time.Second, "how long to wait")
	if err := cmd.RegisterFlagCompletionFunc("instance", a.instances); err != nil {
		panic(err) // the flag is a line above
	}
	return cmd
}

// drainLook is how often the store is asked how far a drain has come.
const drainLook = 250 * time.Millisecond

func (a *app) drainInstance(cmd *cobra.Command, o drainOptions) error {
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
	target, err := v.find(o.instance)
	if err != nil {
		return err
	}
	w := &drainWatch{app: a, id: target.ID, began: time.Now(), seen: map[string]bool{}}
	w.note(v)
	if err := s.BeginDrain(ctx, instance.ID(target.ID)); err != nil {
		return err
	}
	return w.wait(ctx, s)
}

// find returns the instance whose ID begins with text.
func (v view) find(text string) (member, error) {
	var found []member
	for _, m := range v.Instances {
		if m.ID == text {
			return m, nil
		}
		if strings.HasPrefix(m.ID, text) {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return member{}, v.noInstance(text)
	}
	return member{}, usage("--instance %s: %d instances have IDs that begin so; write more of it", cut(text), len(found))
}

// noInstance says why an instance cannot be drained through the store. What holds a key and is no member of the fleet reads no
// mark there: only its process can be told.
func (v view) noInstance(text string) error {
	for _, w := range v.Workloads {
		if !w.Held || !strings.HasPrefix(w.Owner, text) {
			continue
		}
		what, where := "it", "its process"
		if strings.HasPrefix(w.Info, runInfo) {
			what = "a \"tenure run\""
		}
		if part := strings.Split(w.Owner, ":"); len(part) == 3 { // as instance.New makes them
			where = fmt.Sprintf("process %s on %s", part[1], part[0])
		}
		return usage("--instance %s: %s holds %q and is no member of the fleet, so no mark in the store reaches it; drain it by SIGTERM to %s", cut(text), what, w.Key, printable(where, 0))
	}
	return usage("--instance %s: no live instance has an ID that begins so; \"tenure status\" lists them (a \"tenure run\" is drained by SIGTERM to its process)", cut(text))
}

// drainWatch follows the drain of one instance through the store.
type drainWatch struct {
	app     *app
	id      string
	began   time.Time
	seen    map[string]bool // keys that it held since the drain began
	running []string
	life    float64
	beaten  bool // it has beaten since it was marked, so it knows of the mark
	gone    bool
	last    string
}

// note takes a view in.
func (w *drainWatch) note(v view) {
	w.running = nil
	for _, x := range v.Workloads {
		if x.Held && x.Owner == w.id {
			w.seen[x.Key] = true
			w.running = append(w.running, x.Key)
		}
	}
	w.gone = true
	for _, m := range v.Instances {
		if m.ID == w.id {
			w.gone = false
			w.beaten = w.beaten || w.life > 0 && m.TTLLeftSeconds > w.life && m.State == "draining"
			w.life = m.TTLLeftSeconds
		}
	}
}

// wait follows until nothing runs there. An instance that has not beaten since it was marked may still start something.
func (w *drainWatch) wait(ctx context.Context, s stores.Handle) error {
	for {
		if len(w.running) == 0 && (w.beaten || w.gone) {
			return w.answer("drained", exitDone)
		}
		select {
		case <-ctx.Done():
			if ctx.Err() == context.Canceled {
				return fail(exitInterrupted, "interrupted; the drain goes on")
			}
			return w.answer("draining", exitTimeout)
		case <-time.After(drainLook):
		}
		v, err := look(ctx, s, w.app.cfg.Fleet)
		if err != nil {
			continue // the mark is written; the store is asked again until the time is up
		}
		w.note(v)
		w.progress()
	}
}

// progress tells people, once per change.
func (w *drainWatch) progress() {
	if w.app.json {
		return
	}
	text := fmt.Sprintf("%d of %d let go", len(w.seen)-len(w.running), len(w.seen))
	if text != w.last {
		w.last = text
		fmt.Fprintf(w.app.Err, "draining %s: %s after %s\n", short(w.id), text, left(time.Since(w.began)))
	}
}

// answer ends the command in the form that the drain handler answers in.
func (w *drainWatch) answer(state string, status int) error {
	a := drain.Answer{State: state, Drained: []string{}, Running: append([]string{}, w.running...), ElapsedSeconds: time.Since(w.began).Seconds()}
	for key := range w.seen {
		if !slices.Contains(w.running, key) {
			a.Drained = append(a.Drained, key)
		}
	}
	slices.Sort(a.Drained)
	return w.app.drained(a, short(w.id), status)
}

// drained prints the answer to a drain.
func (a *app) drained(d drain.Answer, what string, status int) error {
	switch {
	case a.json:
		if err := a.emit(d); err != nil {
			return err
		}
		if status != exitDone {
			return quietly(status)
		}
		return nil
	case status == exitDone:
		_, err := fmt.Fprintf(a.Out, "drained %s: %s let go in %s\n", what, count(len(d.Drained), "workload"), left(seconds(d.ElapsedSeconds)))
		return err
	}
	return fail(status, "%s is not drained after %s, and goes on draining; still running: %s", what, left(seconds(d.ElapsedSeconds)), listed(d.Running))
}

// listed is a list of keys for people.
func listed(keys []string) string {
	const most = 10
	if len(keys) == 0 {
		return "nothing, but it has not confirmed the drain"
	}
	out := make([]string, 0, most+1)
	for i, k := range keys {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(keys)-most))
			break
		}
		out = append(out, quoted(k))
	}
	return strings.Join(out, ", ")
}
