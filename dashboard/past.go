package dashboard

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/registry"
)

// past is what the page remembers from look to look: what changed in between is the difference. One
// look at a time writes it; the mutex is for events that come from elsewhere.
type past struct {
	mu     sync.Mutex
	events []Event // oldest first, at most mostEvents

	windDown time.Duration // longest that a worker may take to wind down; 0: not known

	looked  bool
	round   uint64    // counts the looks
	at      time.Time // of the last look that was answered
	traces  map[string]*trace
	members map[instance.ID]*acquaintance
	change  *shift
	strayed map[instance.ID]int // what each owner had before the first move that belongs to no change; nil: none
	strays  int                 // moves since
	strayAt time.Time           // of the last
	silent  time.Time           // since when the store does not answer
	seed    maphash.Seed
	facts   uint64 // of the last look, for its version
	version uint64
}

// trace is what is remembered of a workload.
type trace struct {
	round   uint64 // the last look that found it
	owner   instance.ID
	token   uint64
	seen    time.Time // last look at which that owner held it
	slow    time.Time // the look that first saw that term being wound down; zero before
	winding time.Time // when that term began to wind down, by the store's clock; zero where it was not seen to
	gone    time.Time // the look that found it without an owner; zero while it has one
	told    bool      // the timeline has it
	moves   int
	again   int
	last    *Handover
}

// acquaintance is what is remembered of an instance.
type acquaintance struct {
	name     string
	ttl      time.Duration // the longest that it was seen to have left
	left     time.Duration // at the last look that listed it
	seen     time.Time
	live     bool
	draining bool
	leaving  bool
}

const (
	mostEvents        = 256
	mostAcquaintances = 1024 // dead ones are forgotten beyond that: it is names for people only
)

func newPast() *past {
	return &past{traces: map[string]*trace{}, members: map[instance.ID]*acquaintance{}, seed: maphash.MakeSeed()}
}

// note adds an event.
func (h *past) note(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	if len(h.events) > mostEvents {
		h.events = slices.Delete(h.events, 0, len(h.events)-mostEvents)
	}
}

// history returns a copy of the events, oldest first.
func (h *past) history() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// ttl is how long a member's life is in whole: as configured, or as it was seen to be.
func (h *past) ttl(m registry.Member, configured time.Duration, known bool) time.Duration {
	if known {
		return max(configured, m.TTLLeft)
	}
	ttl := m.TTLLeft
	if a := h.members[m.ID]; a != nil {
		ttl = max(ttl, a.ttl)
	}
	return ttl
}

// meet compares the members with those of the look before. It returns whether the active ones changed, and how
// to say so.
func (h *past) meet(r *reading, names map[instance.ID]string) (changed []string) {
	for _, a := range h.members {
		a.live = a.live && !r.heard.Equal(r.at) // what is not listed now is gone; no answer says nothing
	}
	for _, m := range r.members {
		a := h.members[m.ID]
		if a == nil {
			a = &acquaintance{name: names[m.ID]}
			h.members[m.ID] = a
			if h.looked {
				h.note(Event{At: m.JoinedAt, Kind: EventJoined, Text: a.name + " joined", Instance: m.ID})
			}
			changed = append(changed, a.name+" joined")
		}
		if (m.Draining || m.Leaving) && !a.draining && !a.leaving {
			what := a.name + " is draining"
			if !m.Draining {
				what = a.name + " is stopping"
			}
			if h.looked {
				h.note(Event{At: r.at, Kind: "draining", Text: what, Instance: m.ID})
			}
			changed = append(changed, what)
		}
		a.live, a.seen, a.left, a.ttl = true, r.heard, m.TTLLeft, max(a.ttl, m.TTLLeft)
		a.draining, a.leaving = m.Draining, m.Leaving
	}
	return append(changed, h.part(r)...)
}

// part finds the members that are gone.
func (h *past) part(r *reading) (changed []string) {
	for id, a := range h.members {
		switch {
		case a.live:
		case a.seen.IsZero():
			if len(h.members) > mostAcquaintances {
				delete(h.members, id)
			}
		default:
			e := Event{At: r.at, Kind: EventLeft, Text: a.name + " left", Instance: id}
			// One that had time left has taken itself out; what expires does not.
			if !a.leaving && a.seen.Add(a.left).Before(r.at) {
				e.Kind, e.Text = EventLost, a.name+" was lost: no heartbeat any more"
			}
			h.note(e)
			if !a.draining && !a.leaving {
				what, _, _ := strings.Cut(e.Text, ":")
				changed = append(changed, what)
			}
			a.seen = time.Time{}
		}
	}
	slices.Sort(changed)
	return changed
}

// died reports whether an instance lost what it had without letting go: it is gone, or silent.
func (h *past) died(id instance.ID) bool {
	a := h.members[id]
	return a != nil && !a.leaving && !a.draining && (!a.live || a.left < a.ttl/2)
}
