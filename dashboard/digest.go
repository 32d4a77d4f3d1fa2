package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
)

var errNothing = errors.New("nothing was answered")

// digest makes a fleet of a reading. One look at a time calls it.
func (p *Page) digest(r reading) (f *fleet) {
	h := p.past
	last := p.fleet.Load()
	if r.err != nil && (!h.looked || r.heard.IsZero() && p.src.members != nil) {
		return p.silence(&fleet{names: map[instance.ID]string{}}, last, &r)
	}
	mine := map[string]coordinator.WorkloadInfo{}
	if r.local != nil {
		for _, w := range r.local.Workloads {
			mine[w.Key] = w
		}
	}
	rows, roles := merge(&r, mine, p.src.lister != nil)
	names := p.namesOf(&r, rows)
	prior := held(last.rows)
	changed := h.meet(&r, names)
	moves := h.follow(&r, rows, names)
	for i := range rows {
		rows[i].OwnerName = names[rows[i].Owner]
	}
	members := p.people(&r, rows, roles, names)
	f = &fleet{
		at: r.at, tried: r.at, heard: r.heard, names: names, rows: rows, members: members, listed: r.listed,
		local: r.local, mine: mine, catalogue: r.catalogue,
	}
	f.place()
	f.count(r.at)
	f.balance = h.weigh(&r, rows, members, prior, changed, moves)
	if r.err != nil {
		return p.silence(f, last, &r)
	}
	if !h.silent.IsZero() {
		h.note(Event{At: r.at, Kind: EventAnswers, Text: fmt.Sprintf("the store answers again, after %s", people(r.at.Sub(h.silent)))})
		h.silent = time.Time{}
	}
	h.looked, h.at = true, r.at
	p.finish(f)
	return f
}

// silence is the fleet as it was last seen, of a store that does not answer (in full).
func (p *Page) silence(f, last *fleet, r *reading) *fleet {
	h := p.past
	if h.silent.IsZero() {
		h.silent = r.at
		h.note(Event{At: r.at, Kind: EventSilent, Text: "the store does not answer: " + oneLine(cmp.Or(r.err, errNothing))})
		p.cfg.Logger.Warn("the page cannot read the store", "error", r.err)
	}
	f.at, f.tried, f.err = last.at, r.at, cmp.Or(r.err, errNothing)
	f.failing, f.silentFor = h.silent, r.at.Sub(h.silent)
	p.finish(f)
	return f
}

// finish adds what sums a fleet up, and its version.
func (p *Page) finish(f *fleet) {
	f.events = p.past.history()
	f.verdict = p.judge(f)
	if facts := f.facts(p.past.seed); facts != p.past.facts {
		p.past.facts = facts
		p.past.version++
	}
	f.version = p.past.version
}

// facts is a hash of everything that a viewer would see, but for times that run by themselves.
func (f *fleet) facts(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	fmt.Fprintln(&h, f.verdict.Level, f.verdictFacts(), f.counts, len(f.events), f.balance.Missing, f.err != nil)
	if n := len(f.events); n > 0 {
		fmt.Fprintln(&h, f.events[n-1])
	}
	for i := range f.members {
		m := &f.members[i]
		fmt.Fprintln(&h, m.ID, m.Name, m.Draining, m.Leaving, m.Stranger, m.Late, m.Held, m.Quota, m.Roles, m.Zone, m.Version, m.Address)
	}
	for i := range f.rows {
		r := &f.rows[i]
		for _, s := range []string{r.Key, string(r.State), r.Name, r.Info, string(r.Owner), string(r.Target)} {
			maphash.WriteComparable(&h, s)
		}
		maphash.WriteComparable(&h, r.Token)
	}
	return h.Sum64()
}

// count sums the rows up.
func (f *fleet) count(now time.Time) {
	c := &f.counts
	for i := range f.rows {
		r := &f.rows[i]
		c.Workloads++
		*c.of(r.State)++
		if r.Owner != "" {
			c.Owned++
		}
		if r.State == Unowned {
			f.unowned = max(f.unowned, now.Sub(r.Since))
		}
	}
	for i := range f.members {
		if !f.members[i].Stranger {
			c.Members++
		}
	}
	c.ActiveMembers = len(activeOf(f.members))
}

// place notes where the local plan puts what is not there.
func (f *fleet) place() {
	if f.local == nil {
		return
	}
	targets := f.local.Plan.Plan.Targets
	t := 0
	for i := range f.rows {
		r := &f.rows[i]
		for t < len(targets) && targets[t].Key < r.Key {
			t++
		}
		if t < len(targets) && targets[t].Key == r.Key && targets[t].Instance != r.Owner {
			r.Target = targets[t].Instance
		}
	}
}

// namesOf calls everybody by a name. What a user's function does wrong is not shown.
func (p *Page) namesOf(r *reading, rows []Row) map[instance.ID]string {
	names := make(map[instance.ID]string, len(r.members))
	for _, m := range r.members {
		names[m.ID] = p.nameOf(m.Instance)
	}
	for i := range rows {
		for _, id := range []instance.ID{rows[i].Owner, rows[i].Target} {
			if _, known := names[id]; id != "" && !known {
				names[id] = p.past.nameOf(id)
			}
		}
	}
	return names
}

func (p *Page) nameOf(i instance.Instance) (name string) {
	defer func() {
		if recover() != nil || name == "" {
			name = shortID(i.ID)
		}
		name = clip(strings.ToValidUTF8(name, "?"), 64)
	}()
	if p.cfg.Name != nil {
		return p.cfg.Name(i.Clone())
	}
	return i.Labels["name"]
}

// shortID shortens the random part of an ID in the shape machine:pid:random.
func shortID(id instance.ID) string {
	const shown = 4
	parts := strings.Split(string(id), ":")
	if n := len(parts); n == 3 && len(parts[n-1]) > shown {
		parts[n-1] = parts[n-1][:shown]
		return strings.ToValidUTF8(strings.Join(parts, ":"), "?")
	}
	return clip(strings.ToValidUTF8(string(id), "?"), 24)
}

// oneLine makes a line of an error, which may come from anywhere.
func oneLine(err error) string {
	return clip(strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " "), 300)
}
