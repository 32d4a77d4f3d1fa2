package lease

import (
	"time"

	"github.com/tenure-go/tenure/instance"
)

// rival is what is known of the others who hold a key while it is contended for here: for observers,
// nothing is decided by it.
type rival struct {
	since  time.Duration // contending
	owner  instance.ID   // last seen holding the key; empty: nobody was
	freeAt time.Duration // when the owner's session runs out, or when the release was heard of
	letGo  bool          // the release was heard of
}

// begin notes that contending begins.
func (e *entry) begin(at time.Duration) { e.rival = rival{since: at} }

// seen notes a refusal: the owner's session lasts until then at least. A release that was hinted at while the
// answer was on its way may be newer than the answer, and stays.
func (e *entry) seen(owner instance.ID, until time.Duration) {
	if owner == "" {
		return // only a locked row, or a frozen store
	}
	e.rival.owner = owner
	if !e.missed {
		e.rival.letGo, e.rival.freeAt = false, until
	}
}

// lapsed notes what the store tells with a grant of the term before, where nobody was seen to hold the key here: it was
// over before this process contended for it.
func (e *entry) lapsed(l Lapse, now time.Duration) {
	if l.Owner != "" && e.rival.owner == "" {
		over := now - min(l.Ago, farOff)
		e.rival = rival{since: min(e.rival.since, over), owner: l.Owner, freeAt: over}
	}
}

// released notes a hint that the key was let go of.
func (e *entry) released(now time.Duration) {
	if !e.rival.letGo {
		e.rival.letGo, e.rival.freeAt = true, now
	}
}

// before is what was seen when the key is granted now.
func (e *entry) before(now time.Duration) Before {
	r := e.rival
	b := Before{Owner: r.owner, Lapsed: r.owner != "" && !r.letGo && now >= r.freeAt}
	b.Free = max(now-max(r.since, min(r.freeAt, now)), 0)
	return b
}
