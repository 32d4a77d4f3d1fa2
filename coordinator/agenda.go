package coordinator

import "time"

// agenda says when the planner plans next. Times are on the engine's line.
type agenda struct {
	debounce, most time.Duration
	set            bool          // a plan is due
	due            time.Duration // then
	open           bool          // changes are being collected
	first          time.Duration // of them
	collected      time.Duration // when they are due
}

// urgent has a plan made at once.
func (a *agenda) urgent(now time.Duration) { a.by(now) }

// change has a plan made when no more changes come, or the first has waited for long enough.
func (a *agenda) change(now time.Duration) {
	if !a.open {
		a.open, a.first = true, now
	}
	a.collected = min(now+a.debounce, a.first+a.most)
}

// by has a plan made at that time, unless one is due earlier.
func (a *agenda) by(at time.Duration) {
	if !a.set || at < a.due {
		a.set, a.due = true, at
	}
}

// next returns when the next plan is due; forever where none is.
func (a *agenda) next() time.Duration {
	at := forever
	if a.set {
		at = a.due
	}
	if a.open {
		at = min(at, a.collected)
	}
	return at
}

// begin forgets everything: a plan is being made.
func (a *agenda) begin() { a.set, a.open = false, false }
