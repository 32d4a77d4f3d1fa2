package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/assigner"
)

// slowReads is how many heartbeat intervals an instance that is told nothing new leaves its targets
// alone at most: hints, and the changes that its own heartbeats see, make it read them earlier.
const slowReads = 32

// obeying is what this instance was told to run. The loop owns it.
type obeying struct {
	lane  lane
	at    time.Duration // when the targets are read next
	early time.Duration // where the spacing of early reads has come to
	again bool          // a hint came while a read was under way
	wait  time.Duration // present distance of reads

	answered bool // a read was answered
	head     assigner.Head
	newest   assigner.Head // the newest head that was ever read
	set      assigner.Set
	readAt   time.Duration // when it came
	since    time.Duration // when a sign of the planner was last seen: the head was written
	planned  time.Duration // when the plan was first seen
	stirred  time.Duration // when something last changed that a plan should follow
	keys     map[string]struct{}
	strange  stranger
}

// obeys reports whether somebody else's plan is obeyed, which may be that of this instance as the planner.
func (e *engine) obeys() bool { return e.mode.targets != nil }

// knows reports whether it is known what this instance should run. Targets of an earlier incarnation
// of the store are none.
func (l *loop) knows() bool {
	o := &l.obey
	return o.set.Found && o.set.Incarnation >= l.incarnation
}

// stir has the targets read often for a while: something changed that a new plan will follow.
func (l *loop) stir(now time.Duration) {
	l.obey.stirred = now
	l.obey.wait = 0
	l.obey.at = min(l.obey.at, now+l.e.timing.HeartbeatInterval)
}

// readSoon makes the next read come early. Like heartbeats they are spaced.
func (l *loop) readSoon(now time.Duration) {
	o := &l.obey
	if o.lane.busy {
		o.again = true // the answer under way may be older than the hint
		return
	}
	o.early = max(o.early, now)
	if at := max(now, o.early-(earlyBurst-1)*l.earlyGap()); at < o.at {
		o.at = at
		o.early += l.earlyGap()
	}
}

// readIfDue reads this instance's targets when it is time.
func (l *loop) readIfDue(now time.Duration) {
	o := &l.obey
	if !l.mayRead() || now < o.at {
		return
	}
	e, s, own := l.e, o.strange, l.cat.print
	ask(l, &o.lane, "TargetsOf", func(ctx context.Context) (reading, error) {
		return e.readTargets(ctx, s, own, now)
	}, func(r reading, _ time.Duration, err error) {
		l.told(r, err)
	})
}

func (l *loop) mayRead() bool {
	return l.e.obeys() && !l.obey.lane.busy && l.beat.version != 0 && !l.closing()
}

// told draws the consequences of a read.
func (l *loop) told(r reading, err error) {
	o, now, interval := &l.obey, l.e.line.Now(), l.e.timing.HeartbeatInterval
	if err != nil {
		o.wait = min(max(2*o.wait, interval/8), interval)
		o.at = now + l.e.spread(o.wait)
		l.e.logs(func(lg *slog.Logger) {
			lg.Warn("targets unknown; the last ones stay in force", "instance", string(l.e.self.ID), "error", err)
		})
	} else {
		l.meet(now, r)
		l.apply(now, r.head, r.set)
		o.wait = min(max(2*o.wait, interval), l.longestRead(now))
		o.at = now + l.e.spread(o.wait)
	}
	if o.again {
		o.again = false
		l.readSoon(now)
	}
}

// longestRead is the distance of reads: short while a plan is expected, or none is known.
func (l *loop) longestRead(now time.Duration) time.Duration {
	interval := l.e.timing.HeartbeatInterval
	switch {
	case now-l.obey.stirred < settleMost*l.e.window+l.e.timing.HeartbeatTTL:
		return interval
	case !l.knows():
		return max(l.e.timing.LeaseTTL/2, interval)
	}
	return slowReads * interval
}

// apply takes an answer for what this instance is to do.
func (l *loop) apply(now time.Duration, head assigner.Head, set assigner.Set) {
	o := &l.obey
	forgotten := o.newest.Newer(head)
	if forgotten {
		// An old snapshot, or nothing: what this says is worth less than what was said before. The
		// planner, which may be here, writes again.
		l.facts.forgotten++
		set.Found = false
	} else {
		o.newest = head
	}
	if !o.answered || head.Token != o.head.Token || head.Epoch != o.head.Epoch {
		o.planned = now
	}
	if !o.answered || head.Token != o.head.Token || head.Epoch != o.head.Epoch || !head.WrittenAt.Equal(o.head.WrittenAt) {
		o.since = now
	}
	o.readAt = now
	knew, before := l.knows(), o.set
	o.answered, o.head, o.set = true, head, set
	if l.knows() == knew && before.Token == set.Token && before.Epoch == set.Epoch && len(before.Keys) == len(set.Keys) {
		l.showObeyed()
		return // the same set
	}
	o.keys = make(map[string]struct{}, len(set.Keys))
	for _, key := range set.Keys {
		o.keys[key] = struct{}{}
	}
	l.dirty = true
	l.showObeyed()
	if l.knows() {
		l.e.decided(PlannerEvent{
			Kind: PlannerObeyed, Instance: l.e.self.ID, Token: set.Token, Epoch: set.Epoch,
			Why: fmt.Sprintf("%s gives this instance %d workloads", head.Planner, len(set.Keys)),
		})
	}
}

// reincarnated notes that the store began anew: targets of before do not count any more.
func (l *loop) reincarnated(now time.Duration, incarnation uint64) {
	l.incarnation = incarnation
	l.dirty = true
	l.stir(now)
	l.showObeyed()
}
