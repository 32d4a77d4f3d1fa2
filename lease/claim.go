package lease

import (
	"time"
)

// Claimant is told what becomes of a claim. The keeper calls it from its Run, one call at a time
// and with no lock held; the methods must return at once, and may call Claim and Hold.
type Claimant interface {
	// Granted: the key is held from now on, and a worker may start. Release the hold when it has returned.
	Granted(h *Hold)
	// Refused: somebody else holds the key, or the store is frozen. The keeper tries again by itself.
	Refused(r Refusal)
	// Lost: the term is over and h.Valid is false already. Stop the worker, wait for it, then call
	// h.Release. The keeper acquires the key no more until Contend is called.
	Lost(h *Hold, why *LostError)
	// Released: the key is free, or will be when the old session lapses. Contend to run for it again.
	Released(h *Hold)
}

// farOff is later than any keeper lives, and far enough from the end of time that adding to it is safe.
const farOff = time.Duration(1 << 61)

// Claim is a process's wish to hold one key. It is safe for concurrent use.
type Claim struct {
	keeper   *Keeper
	entry    *entry
	claimant Claimant
}

// Contend (again) tries for the key, until it is granted or Pause is called. While the key is
// held, or its last term has not been released, it takes effect afterwards.
func (c *Claim) Contend() { c.keeper.contend(c, 0) }

// ContendAfter is Contend after a wait, which hints do not shorten.
func (c *Claim) ContendAfter(wait time.Duration) { c.keeper.contend(c, min(max(wait, 0), farOff)) }

// Pause stops contending. A grant that is already on its way is given back, not delivered.
// A term that is held goes on.
func (c *Claim) Pause() { c.keeper.pause(c) }

// Close gives the claim up, and the key with it if it is held: call it when no worker runs.
// The claimant hears nothing any more.
func (c *Claim) Close() { c.keeper.closeClaim(c) }

// Key returns the claimed key.
func (c *Claim) Key() string { return c.entry.key }

// entry is all that the keeper knows about one key. Guarded by the keeper's mutex.
type entry struct {
	key   string
	claim *Claim // nil once closed; the entry stays until nothing about it is open

	contending bool
	nextTry    time.Duration
	notBefore  time.Duration // what ContendAfter asked for; hints do not shorten it
	lastTry    time.Duration
	heapPos    int // index in keeper.queue, or -1

	asking    bool // an Acquire that lists the key is in flight
	missed    bool // a hint came during that Acquire, whose answer may be older
	unsettled bool // an Acquire's outcome is unknown: it is repeated until it is known
	// late is until when an Acquire that got no answer may still be carried out, after others were
	// answered and their grants let go. Then the key is asked for once more, to find what it granted
	// and give it back. 0: no such call is out.
	late   time.Duration
	strays int   // grants to give back that nobody wanted
	hold   *Hold // the term that is live, lost or being released

	rival rival
}

// open reports whether something about the key is not finished.
func (e *entry) open() bool {
	return e.claim != nil || e.asking || e.unsettled || e.late > 0 || e.strays > 0 || e.hold != nil
}

// wants reports whether the key should be listed in an Acquire.
func (e *entry) wants() bool {
	return (e.contending || e.unsettled || e.late > 0) && !e.asking && e.hold == nil && e.strays == 0
}

// answered notes that an Acquire was answered that was sent at the given time. A call that came
// before it is not waited for any longer once it has had its time.
func (e *entry) answered(sent time.Duration) {
	e.unsettled = false
	if sent >= e.late {
		e.late = 0
	}
}

// rest puts the next try of a key that nobody contends for at the time when it is asked for once more.
func (e *entry) rest(now time.Duration) {
	switch {
	case e.late == 0 || e.contending || e.unsettled:
	case e.hold != nil && now >= e.late:
		e.late = 0 // a call that was carried out meanwhile found the term and granted nothing
	default:
		e.nextTry = max(e.nextTry, e.late)
	}
}

// queue is a heap of the entries that want their key, earliest try first.
type queue []*entry

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].nextTry < q[j].nextTry }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].heapPos, q[j].heapPos = i, j
}

// Push and Pop are for container/heap.
func (q *queue) Push(x any) {
	e := x.(*entry)
	e.heapPos = len(*q)
	*q = append(*q, e)
}

// Pop removes the last element.
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	e.heapPos = -1
	return e
}
