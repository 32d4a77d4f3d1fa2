package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tenure-go/tenure/registry"
)

// errStale is what a view is worth that does not list the instance which just beat.
var errStale = errors.New("tenure: the answer to the heartbeat does not list this instance; it is ignored")

// beating is the heartbeat and what it taught. The loop owns it.
type beating struct {
	lane     lane
	at       time.Duration // when the next is due
	ride     ride
	sent     time.Duration // when the last was sent
	early    time.Duration // where the spacing of early ones has come to
	again    bool          // a hint came while one was under way
	wait     time.Duration // present backoff, 0 after a success
	joined   time.Time     // as the store answered it
	known    registry.Generation
	members  []registry.Member // never changed in place
	version  uint64            // rises with every new list of members; 0 before the first
	failing  bool
	failures int           // in a row
	since    time.Duration // when they began to fail
}

// Heartbeats that hints ask for are spaced, so that a thousand joiners cost each member a handful of
// them: a few go out at once after a quiet while, then one per gap.
const earlyBurst = 3

func (l *loop) earlyGap() time.Duration { return l.e.timing.HeartbeatInterval / 20 }

// beatSoon makes the next heartbeat come early.
func (l *loop) beatSoon(now time.Duration) {
	b := &l.beat
	if b.failing {
		return // the backoff decides
	}
	if b.lane.busy {
		b.again = true // the answer under way may be older than the hint
		return
	}
	b.early = max(b.early, now)
	if at := max(now, b.early-(earlyBurst-1)*l.earlyGap()); at < b.at {
		b.hurry(at)
		b.early += l.earlyGap()
	}
}

// beatIfDue sends a heartbeat when it is time.
func (l *loop) beatIfDue(now time.Duration) {
	b := &l.beat
	switch {
	case b.lane.busy:
		return
	case now < b.at:
		l.offerBeat(now)
		return
	case l.carried(now):
		return
	}
	b.sent = now
	self := l.selfNow()
	known := b.known
	ask(l, &b.lane, "Heartbeat", func(ctx context.Context) (registry.View, error) {
		return l.e.store.Heartbeat(ctx, self, l.e.timing.HeartbeatTTL, known)
	}, func(v registry.View, took time.Duration, err error) {
		l.beaten(self, v, took, err)
	})
}

// selfNow is what this instance says of itself.
func (l *loop) selfNow() registry.Self {
	return registry.Self{Instance: l.e.self, JoinedAt: l.beat.joined, Draining: l.e.isDraining(), Leaving: l.leaving}
}

// beaten draws the consequences of an answer to a heartbeat.
func (l *loop) beaten(self registry.Self, v registry.View, took time.Duration, err error) {
	b, now := &l.beat, l.e.line.Now()
	if err == nil && !l.usable(v) {
		b.known, err = 0, errStale
	}
	if err != nil {
		l.beatFailed(now, took, err)
	} else {
		l.beatWorked(now, v)
	}
	if b.again {
		b.again = false
		l.beatSoon(now)
	}
	// A mark that was set while the heartbeat was under way is told at once.
	if self.Leaving != l.leaving || self.Draining != l.e.isDraining() {
		b.hurry(now)
	}
	l.showBeat(took, err)
	l.e.emitBeat(BeatEvent{Instance: l.e.self.ID, Err: err, Took: took, Members: len(b.members), Active: len(l.active)})
}

// usable reports whether a view may be believed: it lists its reader, or says that nothing moved
// since a view that did.
func (l *loop) usable(v registry.View) bool {
	if v.Unchanged {
		return l.beat.known != 0 && v.Generation == l.beat.known
	}
	_, listed := v.Find(l.e.self.ID)
	return listed
}

func (l *loop) beatFailed(now, took time.Duration, err error) {
	b := &l.beat
	b.failures++
	interval := l.e.timing.HeartbeatInterval
	b.wait = min(max(2*b.wait, interval/8), interval)
	b.hurry(now + l.e.spread(b.wait))
	failures := b.failures // the line is written later, beside the loop
	l.e.logs(func(lg *slog.Logger) {
		lg.Warn("heartbeat failed", "instance", string(l.e.self.ID), "error", err, "took", took, "failures", failures)
	})
	if !b.failing {
		b.failing = true
		b.since = now
		l.dirty = true
		l.e.note(EventFailing, "", err.Error())
	}
}

func (l *loop) beatWorked(now time.Duration, v registry.View) {
	b := &l.beat
	l.nextBeat()
	if v.NextExpiry > 0 {
		// Look when a silent member expires, each at a slightly different moment.
		spread := time.Duration(l.e.clock.Float64() * float64(min(l.earlyGap(), 50*time.Millisecond)))
		if at := now + v.NextExpiry + time.Millisecond + spread; at < b.at {
			b.hurry(at)
		}
	}
	if b.failing {
		l.dirty = true
		l.e.note(EventRecovered, "", fmt.Sprintf("after %d failed heartbeats", b.failures))
	}
	b.wait, b.failing, b.failures = 0, false, 0
	b.known = v.Generation
	if !v.Self.JoinedAt.IsZero() {
		b.joined = v.Self.JoinedAt
	}
	if v.Self.Draining {
		l.e.startDraining("this instance was marked in the store")
	}
	l.lookAgain()
	if !v.Unchanged {
		l.viewed(now, v)
	}
	l.gone.answered(b.sent, v.NextExpiry)
}

// viewed takes a new list of members.
func (l *loop) viewed(now time.Duration, v registry.View) {
	b := &l.beat
	if l.gone.view(now, max(2*l.e.timing.HeartbeatTTL, l.e.planner.LossWait), b.members, v.Members) {
		l.facts.urgent++
	}
	b.members = v.Members
	b.version++
	l.stir(now)
	active := v.Active()
	if !slices.EqualFunc(active, l.active, sameMember) {
		l.settle.change(now)
		l.e.note(EventMembers, "", fmt.Sprintf("%d active of %d", len(active), len(v.Members)))
	}
	l.active = active
}

func sameMember(a, b registry.Member) bool {
	return a.Instance.Equal(b.Instance) && a.JoinedAt.Equal(b.JoinedAt)
}
