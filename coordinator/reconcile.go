package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// reconcile compares what this instance does with what the plan gives it. It waits for nothing:
// what is dropped is wound down by the runners, what is new goes through the gate.
func (l *loop) reconcile() {
	if !l.dirty {
		return
	}
	l.dirty = false
	if l.closing() {
		l.giveUp()
		return
	}
	for _, j := range l.jobs.all {
		l.review(j)
	}
	// Where heartbeats fail, what is new waits; see look.
	for _, keys := range []map[string]struct{}{l.obey.keys, l.plan.mine} {
		for key := range keys {
			if l.jobs.all[key] == nil && l.isMine(key) && l.cat.find(key) >= 0 {
				l.jobs.wait(key)
			}
		}
	}
}

// closing reports whether this instance lets go of everything.
func (l *loop) closing() bool { return l.leaving || l.e.isDraining() }

// giveUp forgets what waits, and counts what runs as being removed: the runners were told.
func (l *loop) giveUp() {
	for _, j := range l.jobs.all {
		switch j.phase {
		case Waiting:
			l.jobs.forget(j)
		case Assigned:
			l.remove(j, "this instance lets go of everything")
		}
	}
}

// listed reports whether a job is in the catalogue. It looks once per catalogue.
func (l *loop) listed(j *job) bool {
	if j.sought != l.cat.version {
		j.sought, j.listed = l.cat.version, l.cat.find(j.key) >= 0
	}
	return j.listed
}

// review decides whether a job goes on.
func (l *loop) review(j *job) {
	listed := l.listed(j)
	mine, stance := l.isMine(j.key), l.stance(j.key)
	switch {
	case j.phase == Removing:
	case j.phase == Waiting:
		if !listed || !mine {
			l.jobs.forget(j)
		}
	case !listed:
		l.remove(j, "it is not in the catalogue any more")
	case l.beat.failing:
		// The membership is unknown: keep what ran here, take nothing that somebody lets go of.
		if i, ok := l.e.set.Lookup(j.key); ok && i.Token == 0 {
			l.remove(j, "heartbeats fail, so nothing new is taken")
		}
	case stance == unsure:
		if !l.runs(j.key) {
			l.remove(j, "it is unknown who should run it, so nothing new is taken")
		}
	case mine:
		if j.kept {
			l.jobs.keep(j, false, "")
		}
	case !l.calm && stance == local && l.runs(j.key):
		l.jobs.keep(j, true, l.whyMoved(j.key)+", once the fleet has settled")
	default:
		l.remove(j, l.whyMoved(j.key))
	}
}

func (l *loop) runs(key string) bool {
	i, ok := l.e.set.Lookup(key)
	return ok && i.State == runner.Active
}

func (l *loop) whyMoved(key string) string {
	if l.stance(key) == obeyed {
		return fmt.Sprintf("the plan of %s does not give it to this instance", l.whoPlans())
	}
	if to, ok := l.plan.plan.Target(key); ok {
		return fmt.Sprintf("the plan moves it to %s", to)
	}
	return "the plan places it nowhere"
}

func (l *loop) remove(j *job, why string) {
	l.e.set.Stop(j.key)
	l.jobs.remove(j, why)
	l.e.note(EventRemoved, j.key, why)
}

// reap forgets the removed workloads that have ended.
func (l *loop) reap() {
	for key, j := range l.jobs.removing {
		if _, there := l.e.set.Lookup(key); there {
			continue
		}
		l.jobs.forget(j)
		l.e.note(EventReaped, key, "")
		if l.isMine(key) {
			l.dirty = true // it was given back meanwhile
		}
	}
}

// start gives a workload to the runners, which contend for its lease.
func (l *loop) start(j *job) {
	at := l.cat.find(j.key)
	if at < 0 {
		l.jobs.forget(j)
		return
	}
	it := l.cat.item(at)
	why := l.whyHere(j.key)
	err := l.e.set.Start(runner.Spec{Key: j.key, Name: it.name, Work: l.e.workOf(j.key, it.value), Drainable: it.drainable, Info: why})
	switch {
	case err == nil:
		l.jobs.assign(j)
		l.e.note(EventAssigned, j.key, why)
	case errors.Is(err, drain.ErrDraining), errors.Is(err, lease.ErrStopped):
		l.jobs.forget(j)
	default:
		l.pend(j, err.Error()) // the next look tries again
	}
}

// whyHere is the reason of the newest plan that moved the workload.
func (l *loop) whyHere(key string) string {
	if l.stance(key) == obeyed {
		return "planned here by " + l.whoPlans()
	}
	moves := l.plan.plan.Moves
	at, moved := slices.BinarySearchFunc(moves, key, func(m assigner.Move, key string) int { return strings.Compare(m.Key, key) })
	switch {
	case !moved:
		return "planned here"
	case moves[at].From == "":
		return string(moves[at].Reason)
	}
	return fmt.Sprintf("%s, from %s", moves[at].Reason, moves[at].From)
}

// pend notes why a workload waits, and returns for how long it has waited for that reason.
func (l *loop) pend(j *job, why string) time.Duration {
	now := l.e.line.Now()
	if l.jobs.pend(j, why) {
		j.since = now
		l.e.note(EventPending, j.key, why)
	}
	return now - j.since
}
