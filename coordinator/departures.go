package coordinator

import (
	"slices"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/registry"
)

// absent is a member that vanished without having said that it leaves.
type absent struct {
	id instance.ID
	at time.Duration // when it was missed
}

// departures is what an instance's own views taught it about who came and went. Every instance keeps
// it, so that whoever becomes the planner knows. Times are on the engine's line. The loop owns it.
type departures struct {
	began time.Duration                 // of the first view; 0 before
	since map[instance.ID]time.Duration // when each member was first seen
	// safe is until when no other member can have expired: who is missing before then has left.
	safe time.Duration
	lost []absent // never changed in place
}

// view compares two views, and remembers for the time keep who was missed. It reports whether the change leaves workloads without an owner that
// may keep them.
func (d *departures) view(now, keep time.Duration, before, after []registry.Member) (orphans bool) {
	if d.since == nil {
		d.began, d.since = max(now, 1), map[instance.ID]time.Duration{}
		orphans = true // whatever was before, nobody here knows
	}
	is := make(map[instance.ID]registry.Member, len(after))
	for _, m := range after {
		is[m.ID] = m
		if _, known := d.since[m.ID]; !known {
			d.since[m.ID] = now
		}
	}
	lost := slices.DeleteFunc(slices.Clone(d.lost), func(a absent) bool {
		_, back := is[a.id]
		return back || now-a.at > keep
	})
	for _, m := range before {
		a, there := is[m.ID]
		switch {
		case !there:
			orphans = true
			delete(d.since, m.ID)
			if now >= d.safe && !m.Draining && !m.Leaving {
				lost = append(lost, absent{m.ID, now})
			}
		case going(a) && !going(m):
			orphans = true
		}
	}
	d.lost = lost
	return orphans
}

func going(m registry.Member) bool { return m.Draining || m.Leaving }

// answered notes what an answer that was asked for at the time said about the next expiry.
func (d *departures) answered(sent, nextExpiry time.Duration) {
	d.safe = sent + nextExpiry
	if nextExpiry == 0 {
		d.safe = forever // there is no other member
	}
}
