package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

//go:embed assets/*
var assets embed.FS

// sections are the parts of the page that change, by the ID of their element.
var sections = []string{"verdict", "picture", "members", "detail", "workloads", "balance", "timeline"}

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"ago":     ago,
	"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"clock":   func(t time.Time) string { return t.Format("15:04:05") },
	"word":    word,
	"took":    took,
	"count":   count,
	"seconds": seconds,
	"percent": percent,
	"even":    func(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") },
	"join":    strings.Join,
}).ParseFS(assets, "assets/*.html"))

// shown is what the templates see.
type shown struct {
	View
	Query   query
	Picture picture
	Listed  bool
	Failing bool
	Legend  []legend
	Chips   []chip
	Prev    string
	Message string
	MayAct  bool // drain
	MayTake bool // revoke
	More    int  // members that the table leaves out
	Newest  []Event
	Version string
	names   map[instance.ID]string
	biggest int
}

// legend is a state with its count, as a link that filters.
type legend struct {
	State State
	N     int
	Link  string
	On    bool
}

// chip is a filter in force, as a link that lifts it.
type chip struct{ Text, Link string }

const (
	mostMembers = 100 // in the page; the JSON twin has all
	mostShown   = 40  // events in the page
	mostListed  = 200 // events in the JSON twin
)

// view is what a query gets to see.
func (p *Page) view(f *fleet, q query) View {
	v := View{
		Title: p.cfg.Title, At: f.at, Verdict: f.verdict, Counts: f.counts, Members: f.members, Workloads: f.list(q),
		Balance: f.balance, Plan: planOf(f), Events: f.timeline(), Actions: p.actions(),
	}
	if v.Members == nil {
		v.Members = []Member{}
	}
	if v.Verdict.Level == "" {
		v.Verdict = Verdict{Unknown, "The store is being read for the first time."}
	}
	if q.key != "" {
		v.Workload = p.detail(f, q.key)
	}
	return v
}

// timeline joins what the page saw with what the coordinator of this process tells of itself.
func (f *fleet) timeline() []Event {
	all := append([]Event{}, f.events...) // a list, not null, in JSON
	if f.local != nil {
		for _, e := range f.local.Events {
			if e.Key == "" && e.Kind != "members" && e.Kind != "draining" {
				all = append(all, localEvent(e, f.names))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.At.Compare(b.At) })
	slices.Reverse(all)
	return all[:min(len(all), mostListed)]
}

func planOf(f *fleet) *Plan {
	if f.local == nil || f.local.Plan.At.IsZero() {
		return nil
	}
	info := f.local.Plan
	p := &Plan{
		Assigner: info.Assigner, At: info.At, TookMs: ms(info.Took), Digest: info.Plan.Digest.String(), Moves: len(info.Plan.Moves),
		Unplaceable: len(info.Plan.Unplaceable), Frozen: info.Plan.Frozen, Deferred: info.Plan.Deferred,
	}
	for _, m := range info.Plan.Moves {
		if p.Reasons == nil {
			p.Reasons = map[assigner.Reason]int{}
		}
		p.Reasons[m.Reason]++
	}
	if info.Err != nil {
		p.Error = oneLine(info.Err)
	}
	return p
}

// show prepares a view for the templates.
func (p *Page) show(f *fleet, q query) *shown {
	s := &shown{
		View: p.view(f, q), Query: q, Picture: f.draw(q), Listed: f.listed, Failing: f.err != nil, Version: assetVersion, names: f.names,
		MayAct: p.cfg.Authorize != nil && p.src.members != nil, MayTake: p.cfg.Authorize != nil && p.src.revoker != nil,
	}
	s.Query.page = s.Workloads.Page
	if n := len(s.Members); n > mostMembers {
		s.Members, s.More = s.Members[:mostMembers], n-mostMembers
	}
	for i := range s.Members {
		s.biggest = max(s.biggest, s.Members[i].Planned)
	}
	s.Newest = s.Events[:min(len(s.Events), mostShown)]
	for i := range states {
		at := states[len(states)-1-i]
		n := *f.counts.of(at)
		if n == 0 && at != Active && q.state != at {
			continue
		}
		l := legend{State: at, N: n, On: q.state == at}
		to := q
		to.state, to.page, to.key = at, 1, ""
		if l.On {
			to.state = ""
		}
		l.Link = to.link() + "#workloads"
		s.Legend = append(s.Legend, l)
	}
	s.filters(q)
	if q.page = s.Workloads.Page - 1; q.page > 0 {
		q.key = ""
		s.Prev = q.link()
	}
	s.Message = s.said(q)
	return s
}

func (s *shown) filters(q query) {
	lift := func(text string, change func(*query)) {
		to := q
		to.page, to.key = 1, ""
		change(&to)
		s.Chips = append(s.Chips, chip{text, to.link() + "#workloads"})
	}
	if q.search != "" {
		lift("matching “"+clip(q.search, 40)+"”", func(q *query) { q.search = "" })
	}
	if q.owner != "" {
		lift("on "+s.name(q.owner), func(q *query) { q.owner = "" })
	}
	if q.state == attention {
		lift("not active", func(q *query) { q.state = "" })
	} else if q.state != "" {
		lift(word(q.state), func(q *query) { q.state = "" })
	}
}

// said confirms an action that was carried out.
func (s *shown) said(q query) string {
	switch q.done {
	case ActionDrain:
		return fmt.Sprintf("%s was told to drain.", s.name(instance.ID(q.about)))
	case ActionRevoke:
		return fmt.Sprintf("The lease of %s was revoked.", clip(q.about, 60))
	}
	return ""
}

func (s *shown) name(id instance.ID) string {
	if n := s.names[id]; n != "" {
		return n
	}
	return shortID(id)
}

// Name is what an instance is called.
func (s *shown) Name(id instance.ID) string { return s.name(id) }

// Search, Owner, State, Sort and Key are what the form shows.
func (s *shown) Search() string { return s.Query.search }

// Owner is the filter in force.
func (s *shown) Owner() string { return string(s.Query.owner) }

// State is the filter in force.
func (s *shown) State() string { return string(s.Query.state) }

// Sort is the order in force.
func (s *shown) Sort() string { return s.Query.sort }

// Per is the length of a page of the list.
func (s *shown) Per() int { return s.Query.per }

// Key is the workload whose details are shown.
func (s *shown) Key() string { return s.Query.key }

// Refresh is how often a browser without JavaScript asks again; 0 means never.
func (s *shown) Refresh() int { return s.Query.refresh }

// Paused links to the page that does not refresh by itself.
func (s *shown) Paused() string {
	q := s.Query
	q.refresh = 0
	return q.link()
}

// To links to the details of a workload.
func (s *shown) To(key string) string {
	q := s.Query
	q.key = key
	return q.link() + "#detail"
}

// ByOwner links to what an instance holds.
func (s *shown) ByOwner(id instance.ID) string {
	return query{sort: "key", page: 1, per: s.Query.per, refresh: s.Query.refresh, owner: id}.link() + "#workloads"
}

// Closed links to the page without details.
func (s *shown) Closed() string {
	q := s.Query
	q.key = ""
	return q.link() + "#workloads"
}

// Load is how long the bar of a member is, in percent, and Share where the even share is.
func (s *shown) Load(n int) float64 { return percent(float64(n), s.scale()) }

// scale is the load of a full bar: there is always room beyond the even share.
func (s *shown) scale() float64 { return max(float64(s.biggest), 1.25*s.Balance.Even, 1) }

// Share is where the even share is, in percent; below 0 where there is none.
func (s *shown) Share() float64 {
	if !s.Balance.Comparable || s.biggest == 0 {
		return -1
	}
	return math.Min(percent(s.Balance.Even, s.scale()), 99)
}

func percent(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(math.Min(math.Max(part/whole, 0), 1)*1000) / 10
}

// ago says how long ago something was.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := time.Since(t)
	return strings.Replace(people(d.Truncate(time.Second)), ".0 ", " ", 1)
}

// seconds writes milliseconds as seconds, or minutes where there are many.
func seconds(v float64) string {
	if v >= 120_000 {
		return people(time.Duration(v) * time.Millisecond)
	}
	return fmt.Sprintf("%.1f s", v/1000)
}

// took writes how long a handover took.
func took(h *Handover) string {
	if h == nil {
		return ""
	}
	text := fmt.Sprintf("%.0f ms", h.TookMs)
	if h.TookMs >= 10_000 {
		text = fmt.Sprintf("%.1f s", h.TookMs/1000)
	}
	if h.AtMost {
		return "< " + text
	}
	return text
}

// fragment renders one section.
func (s *shown) fragment(name string) ([]byte, error) {
	var b bytes.Buffer
	err := pages.ExecuteTemplate(&b, name, s)
	return b.Bytes(), err
}

// option is one line of a select.
type option struct{ Value, Text string }

// States are the filters of the form.
func (s *shown) States() []option {
	out := []option{{string(attention), "not active"}}
	for i := range states {
		at := states[len(states)-1-i]
		out = append(out, option{string(at), word(at)})
	}
	return out
}

// Sorts are the orders of the form.
func (s *shown) Sorts() []option {
	return []option{{"key", "by key"}, {"owner", "by owner"}, {"since", "newest first"}, {"moves", "most moved"}, {"handover", "slowest handover"}}
}
