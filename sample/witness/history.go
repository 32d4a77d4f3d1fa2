package witness

import (
	"cmp"
	"slices"
)

// term is one pod's ownership of one workload, as far as it became known.
type term struct {
	token uint64
	pod   string

	started Stamp // as reported; 0 when a write came first
	ended   Kind  // Stopped, Lost, or empty
	endedAt Stamp
	// draining means that the worker has said that it is winding down.
	draining bool

	// From first to last the term is proven to have been valid.
	proven      bool
	first, last Stamp

	seen Stamp // when the witness last accepted something of it
}

// intersects reports whether there is an instant at which both are proven to have been valid.
func (t *term) intersects(o *term) bool {
	return t.proven && o.proven && t.first <= o.last && o.first <= t.last
}

// history is all terms of one workload, ordered by token.
type history struct {
	terms   []*term
	highest uint64
	clashes map[[2]*term]bool
}

// term returns the pod's term with the token, and makes it where it is new.
func (h *history) term(token uint64, pod string) *term {
	i, _ := slices.BinarySearchFunc(h.terms, token, func(t *term, token uint64) int { return cmp.Compare(t.token, token) })
	for j := i; j < len(h.terms) && h.terms[j].token == token; j++ {
		if h.terms[j].pod == pod {
			return h.terms[j]
		}
	}
	t := &term{token: token, pod: pod}
	h.terms = slices.Insert(h.terms, i, t)
	h.highest = max(h.highest, token)
	return t
}

// newest is the term with the highest token; nil before there is one.
func (h *history) newest() *term {
	if len(h.terms) == 0 {
		return nil
	}
	return h.terms[len(h.terms)-1]
}

// before is the term with the next lower token than t's; nil where there is none.
func (h *history) before(t *term) *term {
	i := slices.Index(h.terms, t)
	if i <= 0 {
		return nil
	}
	return h.terms[i-1]
}

// prove extends the term's proven time.
func (h *history) prove(t *term, at Stamp) {
	if !t.proven {
		t.proven, t.first, t.last = true, at, at
		return
	}
	t.first, t.last = min(t.first, at), max(t.last, at)
}

// clash returns how many split brains the term makes apparent that were not counted before.
func (h *history) clash(t *term) (n int) {
	for _, o := range h.terms {
		if o == t || o.token != t.token && !t.intersects(o) {
			continue
		}
		pair := [2]*term{o, t}
		if cmp.Or(cmp.Compare(o.token, t.token), cmp.Compare(o.pod, t.pod)) > 0 {
			pair = [2]*term{t, o}
		}
		if !h.clashes[pair] {
			if h.clashes == nil {
				h.clashes = map[[2]*term]bool{}
			}
			h.clashes[pair] = true
			n++
		}
	}
	return n
}

// zombie reports, once, that the term acted after its worker was said to have returned.
func (h *history) zombie(t *term, at Stamp) bool {
	if t.ended == "" || at <= t.endedAt {
		return false
	}
	pair := [2]*term{t, t}
	if h.clashes[pair] {
		return false
	}
	if h.clashes == nil {
		h.clashes = map[[2]*term]bool{}
	}
	h.clashes[pair] = true
	return true
}
