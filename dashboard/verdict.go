package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// judge says how the fleet is, the worst first.
func (p *Page) judge(f *fleet) Verdict {
	for _, rule := range []func(*fleet) (Verdict, bool){p.unread, nobody, stuck, p.orphaned, late, frozen, draining, between, uneven} {
		if v, applies := rule(f); applies {
			return v
		}
	}
	return fine(f)
}

// unread: the page knows nothing, or nothing new.
func (p *Page) unread(f *fleet) (Verdict, bool) {
	switch {
	case f.err == nil:
		return Verdict{}, false
	case f.at.IsZero():
		return Verdict{Unknown, "The store does not answer, so nothing is known of the fleet yet."}, true
	}
	return Verdict{Unknown, fmt.Sprintf("The store has not answered for %s: this is the fleet as it was before.", people(f.silentFor))}, true
}

func nobody(f *fleet) (Verdict, bool) {
	c := f.counts
	if c.ActiveMembers > 0 || c.Unowned == 0 {
		return Verdict{}, false
	}
	if c.Members > 0 {
		return Verdict{Bad, fmt.Sprintf("Every instance is draining, so nobody takes the %s without an owner.", some(c.Unowned, "workload"))}, true
	}
	return Verdict{Bad, fmt.Sprintf("No instance is alive: %s without an owner.", wait(c.Unowned))}, true
}

func stuck(f *fleet) (Verdict, bool) {
	if f.counts.Stuck == 0 {
		return Verdict{}, false
	}
	for i := range f.rows {
		if r := &f.rows[i]; r.State == Stuck {
			more := ""
			if n := f.counts.Stuck - 1; n > 0 {
				more = fmt.Sprintf(", and so have %d more", n)
			}
			return Verdict{Bad, fmt.Sprintf("The work of %s on %s has not ended in time%s: it blocks its successor until that process ends.",
				r.label(), r.OwnerName, more)}, true
		}
	}
	return Verdict{}, false
}

// orphaned: something has had no owner for longer than a failover may take.
func (p *Page) orphaned(f *fleet) (Verdict, bool) {
	limit := p.cfg.Timing.WorstFailover() + time.Second
	if f.counts.Unowned == 0 || f.unowned <= limit {
		return Verdict{}, false
	}
	return Verdict{Bad, fmt.Sprintf("%s had no owner for %s.", have(f.counts.Unowned, f.counts.Workloads), people(f.unowned))}, true
}

func late(f *fleet) (Verdict, bool) {
	var silent []*Member
	for i := range f.members {
		if f.members[i].Late {
			silent = append(silent, &f.members[i])
		}
	}
	switch {
	case len(silent) == 0:
		return Verdict{}, false
	case len(silent) > 1:
		return Verdict{Busy, fmt.Sprintf("%d instances miss their heartbeats; what they hold moves when their time is up.", len(silent))}, true
	case silent[0].Held == 0:
		return Verdict{Busy, fmt.Sprintf("%s misses its heartbeats; it holds nothing.", silent[0].Name)}, true
	}
	return Verdict{Busy, fmt.Sprintf("%s misses its heartbeats; %s when its time is up.", silent[0].Name, moves(silent[0].Held))}, true
}

func frozen(f *fleet) (Verdict, bool) {
	if f.local == nil || f.local.Lease.FrozenFor == 0 {
		return Verdict{}, false
	}
	return Verdict{Busy, "The store has lost data and begun anew: holders keep what they have, and nothing new is granted for a moment."}, true
}

func draining(f *fleet) (Verdict, bool) {
	var who []string
	left := 0
	for i := range f.members {
		if m := &f.members[i]; (m.Draining || m.Leaving) && m.Held > 0 {
			who = append(who, m.Name)
			left += m.Held
		}
	}
	switch len(who) {
	case 0:
		return Verdict{}, false
	case 1:
		return Verdict{Busy, fmt.Sprintf("%s is draining: %s still to hand over.", who[0], some(left, "workload"))}, true
	}
	return Verdict{Busy, fmt.Sprintf("%d instances are draining: %s still to hand over.", len(who), some(left, "workload"))}, true
}

// between: a failover or a handover is under way.
func between(f *fleet) (Verdict, bool) {
	c := f.counts
	switch {
	case c.Unowned > 0:
		return Verdict{Busy, fmt.Sprintf("%s no owner at this moment; the fleet is taking over.", have(c.Unowned, c.Workloads))}, true
	case c.Transferring > 0:
		return Verdict{Busy, fmt.Sprintf("%s being handed over.", are(c.Transferring, c.Workloads))}, true
	case c.Starting > 0:
		return Verdict{Busy, fmt.Sprintf("%s about to start.", are(c.Starting, c.Workloads))}, true
	}
	return Verdict{}, false
}

func uneven(f *fleet) (Verdict, bool) {
	b := f.balance
	if !b.Comparable || b.Missing == 0 || b.Most-b.Fewest < 2 {
		return Verdict{}, false
	}
	return Verdict{Busy, fmt.Sprintf("Every workload has an owner, unevenly: %s would even the load out.", some(b.Missing, "move"))}, true
}

func fine(f *fleet) Verdict {
	c, b := f.counts, f.balance
	switch {
	case c.Workloads == 0 && c.Members == 0:
		return Verdict{Good, "Nothing to run, and nobody here."}
	case c.Workloads == 0:
		return Verdict{Good, fmt.Sprintf("Nothing to run; %s ready.", isOrAre(c.ActiveMembers, "instance"))}
	case c.Inactive == c.Workloads:
		return Verdict{Good, "All work has returned; nothing runs."}
	}
	who := fmt.Sprintf("%d instances", c.ActiveMembers)
	if c.ActiveMembers == 1 {
		who = "one instance"
	}
	text := fmt.Sprintf("All %s workloads have an owner, on %s", count(c.Owned), who)
	if c.Owned == 1 {
		text = "The workload has its owner, one of " + who
	}
	if c.ActiveMembers == 0 {
		text = strings.TrimSuffix(text, ", on "+who)
	}
	if c.Inactive > 0 {
		text += fmt.Sprintf("; %s more at rest", count(c.Inactive))
	}
	if b.Comparable && c.ActiveMembers > 1 && b.Most > 1 {
		if b.Most == b.Fewest {
			text += fmt.Sprintf(", %s each", count(b.Most))
		} else if b.Most-b.Fewest == 1 {
			text += fmt.Sprintf(", %s or %s each", count(b.Fewest), count(b.Most))
		}
		if n := f.unplanned(); n > 0 && b.Most-b.Fewest < 2 {
			text += fmt.Sprintf(" and %s unplanned", count(n))
		}
	}
	return Verdict{Good, text + "."}
}

// unplanned counts what is held and no assigner spreads, such as the key of a singleton.
func (f *fleet) unplanned() (n int) {
	for i := range f.rows {
		if f.rows[i].Alone && f.rows[i].Owner != "" {
			n++
		}
	}
	return n
}

// verdictFacts is the verdict without the times in it, which change by themselves.
func (f *fleet) verdictFacts() string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' && (f.err != nil || f.unowned > 0) {
			return -1
		}
		return r
	}, f.verdict.Text)
}

// people writes a duration as one would say it.
func people(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// count writes a number as people read it: 10,000.
func count(n int) string {
	text := strconv.Itoa(n)
	if n < 10_000 {
		return text
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", count(n), what)
}

func isOrAre(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%s %ss are", count(n), what)
}

func wait(n int) string {
	if n == 1 {
		return "1 workload waits"
	}
	return fmt.Sprintf("%s workloads wait", count(n))
}

func have(n, of int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %s workloads has", count(of))
	}
	return fmt.Sprintf("%s of %s workloads have", count(n), count(of))
}

func are(n, of int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %s workloads is", count(of))
	}
	return fmt.Sprintf("%s of %s workloads are", count(n), count(of))
}

func moves(n int) string {
	if n == 1 {
		return "its workload moves"
	}
	return fmt.Sprintf("its %s workloads move", count(n))
}
