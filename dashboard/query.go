package dashboard

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// query is what a viewer asks to see. Its zero value, resolved, is the first page of everything.
type query struct {
	search  string
	owner   instance.ID
	state   State
	sort    string
	page    int
	per     int
	key     string // the workload whose details are shown
	refresh int    // seconds, for a browser without JavaScript; 0: never
	done    ActionKind
	about   string // what that action was about
}

const (
	defaultPer     = 25
	mostPer        = 500
	mostPage       = 1_000_000
	defaultRefresh = 5
	mostRefresh    = 3600
	mostSearch     = 512
	mostQuery      = 8 << 10 // bytes of a whole query
)

// attention is the filter for all that is not simply active.
const attention State = "attention"

// sorts are the orders that the list can have.
var sorts = []string{"key", "owner", "since", "moves", "handover"}

// parseQuery reads a query and refuses what it does not understand, so that a typo is not answered with
// everything. The error matches lease.ErrInvalid.
func parseQuery(raw string) (query, error) {
	q := query{sort: "key", page: 1, per: defaultPer, refresh: defaultRefresh}
	if len(raw) > mostQuery {
		return q, fault.Invalid("query", fmt.Sprintf("of %d bytes", len(raw)), fmt.Sprintf("must be at most %d bytes", mostQuery))
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, fault.Invalid("query", raw, "must be name=value pairs, percent-encoded, separated by &")
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if len(values[name]) > 1 {
			return q, fault.Invalid("query parameter "+name, values[name][1], "must be given once")
		}
		if err := q.set(name, values[name][0]); err != nil {
			return q, err
		}
	}
	return q, nil
}

// set takes one parameter over. An empty value is as good as none: forms send it.
func (q *query) set(name, value string) error {
	if value == "" && slices.Contains([]string{"q", "owner", "state", "sort", "page", "per", "w", "refresh", "done", "about"}, name) {
		return nil
	}
	field := "query parameter " + name
	if !utf8.ValidString(value) || len(value) > mostSearch {
		return fault.Invalid(field, value, fmt.Sprintf("must be UTF-8 of at most %d bytes", mostSearch))
	}
	switch name {
	case "q":
		q.search = value
	case "owner":
		q.owner = instance.ID(value)
	case "w":
		q.key = value
	case "about":
		q.about = value
	case "state":
		q.state = State(value)
		if q.state != attention && !slices.Contains(states, q.state) {
			return fault.Invalid(field, value, "must be attention, active, starting, transferring, unowned, inactive or stuck")
		}
	case "sort":
		q.sort = value
		if !slices.Contains(sorts, value) {
			return fault.Invalid(field, value, "must be one of "+strings.Join(sorts, ", "))
		}
	case "done":
		q.done = ActionKind(value)
		if q.done != ActionDrain && q.done != ActionRevoke {
			return fault.Invalid(field, value, "must be drain or revoke")
		}
	case "page":
		return number(field, value, &q.page, 1, mostPage)
	case "per":
		return number(field, value, &q.per, 1, mostPer)
	case "refresh":
		return number(field, value, &q.refresh, 0, mostRefresh)
	default:
		return fault.Invalid("query parameter", name, "is unknown; there are q, owner, state, sort, page, per, w and refresh")
	}
	return nil
}

func number(field, value string, into *int, lo, hi int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < lo || n > hi {
		return fault.Invalid(field, value, fmt.Sprintf("must be a number from %d to %d", lo, hi))
	}
	*into = n
	return nil
}

// link is the relative link to what q asks for, but for messages.
func (q query) link() string {
	v := url.Values{}
	add := func(name, value, or string) {
		if value != or {
			v.Set(name, value)
		}
	}
	add("q", q.search, "")
	add("owner", string(q.owner), "")
	add("state", string(q.state), "")
	add("sort", q.sort, "key")
	add("page", strconv.Itoa(q.page), "1")
	add("per", strconv.Itoa(q.per), strconv.Itoa(defaultPer))
	add("w", q.key, "")
	add("refresh", strconv.Itoa(q.refresh), strconv.Itoa(defaultRefresh))
	if len(v) == 0 {
		return "./"
	}
	return "./?" + v.Encode()
}

// list answers one page of the workloads.
func (f *fleet) list(q query) Listing {
	match := f.search(q)
	l := Listing{Matching: len(match), Page: q.page, Pages: max((len(match)+q.per-1)/q.per, 1)}
	l.Page = min(l.Page, l.Pages) // a fleet may shrink while one leafs through it
	from := min((l.Page-1)*q.per, len(match))
	match = match[from:min(from+q.per, len(match))]
	l.Rows = make([]Row, len(match))
	for i, at := range match {
		l.Rows[i] = f.rows[at]
	}
	if l.Page < l.Pages {
		q.page, q.key = l.Page+1, ""
		l.Next = q.link()
	}
	return l
}

// search returns the indices of the rows that match, in the order asked for.
func (f *fleet) search(q query) []int {
	needle := strings.ToLower(q.search)
	match := make([]int, 0, len(f.rows))
	for i := range f.rows {
		if f.matches(&f.rows[i], q, needle) {
			match = append(match, i)
		}
	}
	order := func(compare func(a, b *Row) int) {
		slices.SortStableFunc(match, func(a, b int) int { return compare(&f.rows[a], &f.rows[b]) })
	}
	switch q.sort {
	case "owner":
		order(func(a, b *Row) int { return cmp.Compare(a.OwnerName, b.OwnerName) })
	case "since":
		order(func(a, b *Row) int { return b.Since.Compare(a.Since) })
	case "moves":
		order(func(a, b *Row) int { return cmp.Compare(b.Moves+b.Restarts, a.Moves+a.Restarts) })
	case "handover":
		took := func(r *Row) float64 {
			if r.Last == nil {
				return -1
			}
			return r.Last.TookMs
		}
		order(func(a, b *Row) int { return cmp.Compare(took(b), took(a)) })
	}
	return match
}

func (f *fleet) matches(r *Row, q query, needle string) bool {
	switch {
	case q.owner != "" && r.Owner != q.owner:
		return false
	case q.state == attention && r.State == Active:
		return false
	case q.state != "" && q.state != attention && r.State != q.state:
		return false
	case needle == "":
		return true
	}
	return strings.Contains(strings.ToLower(r.Key), needle) || strings.Contains(strings.ToLower(r.Name), needle) ||
		strings.Contains(strings.ToLower(r.OwnerName), needle) || strings.Contains(strings.ToLower(string(r.Owner)), needle)
}

// find returns the row of a key.
func (f *fleet) find(key string) (*Row, bool) {
	i, ok := slices.BinarySearchFunc(f.rows, key, func(r Row, key string) int { return strings.Compare(r.Key, key) })
	if !ok {
		return nil, false
	}
	return &f.rows[i], true
}
