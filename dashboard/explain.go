package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
)

// detail says all that is known of one workload.
func (p *Page) detail(f *fleet, key string) *Detail {
	d := &Detail{Row: Row{Key: key, State: Unowned}, Why: []string{}, Events: []Event{}}
	if row, ok := f.find(key); ok {
		d.Row, d.Found = *row, true
		d.says = p.spoken(f, d.Info)
	}
	if m, here := f.mine[key]; here {
		d.Local = local(m)
	}
	if d.Found {
		d.Explanation = p.explain(f, &d.Row)
	}
	d.Why = p.reasons(f, d)
	for _, e := range slices.Backward(f.events) {
		if e.Key == key {
			d.Events = append(d.Events, e)
		}
	}
	if f.local != nil {
		for _, e := range slices.Backward(f.local.Events) {
			if e.Key == key {
				d.Events = append(d.Events, localEvent(e, f.names))
			}
		}
	}
	slices.SortStableFunc(d.Events, func(a, b Event) int { return b.At.Compare(a.At) })
	return d
}

func local(m coordinator.WorkloadInfo) *Local {
	l := &Local{
		Phase: string(m.Phase), State: string(m.Runner.State), LeftMs: ms(m.Runner.Left), Stuck: m.Runner.Stuck,
		Restarts: m.Runner.Restarts, Failures: m.Runner.Failures, WindDownMs: ms(m.Runner.Last.WindDown),
	}
	if m.Runner.LastErr != nil {
		l.LastError = oneLine(m.Runner.LastErr)
	}
	return l
}

// localEvent puts an event of the coordinator into words.
func localEvent(e coordinator.Event, names map[instance.ID]string) Event {
	text := cmp.Or(names[e.Instance], shortID(e.Instance)) + ": " + string(e.Kind)
	if e.Why != "" {
		text += ", " + clip(strings.ToValidUTF8(e.Why, "?"), 200)
	}
	return Event{At: e.At, Kind: e.Kind, Text: text, Instance: e.Instance, Key: e.Key}
}

// explainer is a coordinator that can say itself why, with all that its planner knows.
type explainer interface {
	Explain(ctx context.Context, key string) (assigner.Explanation, error)
}

// mostThought is how long a coordinator may think about an explanation: it may ask its store.
const mostThought = 500 * time.Millisecond

// explain asks the coordinator, or else the assigner, where the page knows all that it would be asked with.
func (p *Page) explain(f *fleet, row *Row) *assigner.Explanation {
	if row.Alone || !f.listed {
		return nil
	}
	if c, can := p.cfg.Coordinator.(explainer); can {
		e, err := call.Do(context.Background(), &p.thoughts, "Explain", min(p.cfg.CallTimeout, mostThought), func(ctx context.Context) (assigner.Explanation, error) {
			return c.Explain(ctx, row.Key)
		})
		if err == nil {
			return &e
		}
	}
	if f.local != nil && f.local.Plan.Assigner != fmt.Sprintf("%T", p.assigner) {
		return nil
	}
	in := assigner.Input{Owners: make(map[string]instance.ID, len(f.rows))}
	for _, w := range f.catalogue {
		if !w.Alone {
			in.Workloads = append(in.Workloads, w.Workload)
		}
	}
	for i := range f.members {
		m := &f.members[i]
		if m.Stranger {
			continue
		}
		at := assigner.Instance{ID: m.ID, JoinedAt: m.JoinedAt, Capacity: m.Capacity, Zone: m.Zone, Version: m.Version, Labels: m.Labels}
		if m.Draining || m.Leaving {
			at.Phase = assigner.Draining
		}
		in.Instances = append(in.Instances, at)
	}
	for i := range f.rows {
		if f.rows[i].Owner != "" {
			in.Owners[f.rows[i].Key] = f.rows[i].Owner
		}
	}
	e, err := explained(p.assigner, in, row.Key)
	if err != nil {
		return nil
	}
	return &e
}

// explained calls an assigner, which may be the user's.
func explained(a assigner.Assigner, in assigner.Input, key string) (e assigner.Explanation, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the assigner panicked: %v", r)
		}
	}()
	return assigner.Explain(a, in, key)
}

// reasons says why a workload is where it is.
func (p *Page) reasons(f *fleet, d *Detail) []string {
	name := func(id instance.ID) string { return cmp.Or(f.names[id], shortID(id)) }
	why := []string{}
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	switch {
	case !d.Found:
		say("Nobody holds this key, and no catalogue that this page knows has it.")
		return why
	case d.Alone:
		say("No assigner plans it: whoever asks first holds it, until it stops, steps down or dies.")
	}
	if e := d.Explanation; e != nil {
		rule := p.spoken(f, e.Rule)
		if !strings.HasPrefix(e.Rule, string(e.Instance)) || e.Instance == "" { // names are not touched
			rule = capital(rule)
		}
		say("%s.", rule)
		if e.Instance != d.Owner && e.Instance != "" {
			say("By the plan it belongs to %s.", name(e.Instance))
		}
		if e.RunnerUp != "" {
			say("If %s drained, it would go to %s.", name(e.Instance), name(e.RunnerUp))
		}
		for i, x := range e.Excluded {
			if i == 5 {
				say("%d more instances may not have it.", len(e.Excluded)-i)
				break
			}
			say("%s may not have it: %s.", name(x.Instance), p.spoken(f, x.Why))
		}
	} else if d.Target != "" {
		say("The plan of this instance puts it on %s.", name(d.Target))
	}
	if f.local != nil {
		for _, m := range f.local.Plan.Plan.Moves {
			if m.Key == d.Key {
				say("The last plan moves it to %s (%s).", name(m.To), m.Reason)
			}
		}
	}
	if m, here := f.mine[d.Key]; here && m.Why != "" {
		say("On this instance it is %s: %s.", m.Phase, strings.TrimSuffix(p.spoken(f, m.Why), "."))
	}
	if came := cameAs(d.Info); came != "" && d.Owner != "" {
		say("%s took it because %s.", name(d.Owner), came)
	}
	if h := d.Last; h != nil {
		how := "let go of it"
		if h.Failover {
			how = "died"
		}
		say("%s had it before, and %s.", name(h.From), how)
	}
	return why
}

// cameAs says why an owner took a workload: its coordinator publishes the reason of the move.
func cameAs(info string) string {
	switch assigner.Reason(info) {
	case assigner.Orphan:
		return "nobody had it"
	case assigner.Evict:
		return "the owner before had to let go of it"
	case assigner.Rollout:
		return "the owner before was being replaced by a newer version"
	case assigner.Pin:
		return "it is pinned there"
	case assigner.Level:
		return "that evened the load"
	}
	return ""
}

// Says is what its owner says of it, beyond the reason of its move.
func (d *Detail) Says() string {
	if cameAs(d.Info) != "" {
		return ""
	}
	return d.says
}

// spoken replaces the IDs of instances by their names.
func (p *Page) spoken(f *fleet, text string) string {
	for i := range f.members {
		m := &f.members[i]
		if m.Name != "" && string(m.ID) != m.Name && len(m.ID) > 3 {
			text = strings.ReplaceAll(text, string(m.ID), m.Name)
		}
	}
	return strings.ToValidUTF8(text, "?")
}

func capital(text string) string {
	r := []rune(text)
	if len(r) == 0 {
		return text
	}
	return strings.ToUpper(string(r[0])) + string(r[1:])
}
