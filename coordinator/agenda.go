package coordinator

import "time"

// agenda says when the planner plans next. Times are on the engine's line.
type agenda struct {
	debounce, most time.Duration
	hurry          bool          // something cannot wait
	due            time.Duration // since then
	look           time.Duration // when to look at what is under way; not before changes are collected
	looks          bool
	open           bool          // changes are being collected
	first          time.Duration // of them
	collected      time.Duration // when they are due
}

// urgent has a plan made at once.
func (a *agenda) urgent(now time.Duration) {
	if !a.hurry || now < a.due {
		a.hurry, a.due = true, now
	}
}

// change has a plan made when no more changes come, or the first has waited for long enough.
func (a *agenda) change(now time.Duration) {
	if !a.open {
		a.open, a.first = true, now
	}
	a.collected = min(now+a.debounce, a.first+a.most)
}

// by has a plan made at that time, unless one is due earlier, or changes are being collected then.
func (a *agenda) by(at time.Duration) {
	if !a.looks || at < a.look {
		a.looks, a.look = true, at
	}
}

// next returns when the next plan is due; forever where none is.
func (a *agenda) next() time.Duration {
	at := forever
	if a.hurry {
		at = a.due
	}
	switch {
	case a.open:
		at = min(at, a.collected)
	case a.looks:
		at = min(at, a.look)
	}
	return at
}

// begin forgets everything: a plan is being made.
func (a *agenda) begin() { a.hurry, a.looks, a.open = false, false, false }
