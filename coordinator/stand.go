package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/reserved"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/runner"
)

const (
	// standbys is how many instances contend for planning while nobody plans. Beside a planner it is
	// one: if all contended, each would ask for the key once per TTL for nothing.
	standbys = 3
	// overdueLooks is how many heartbeat intervals a head may stay as it is: a planner writes it again
	// with every quiet look.
	overdueLooks = 2 * quietLooks
)

// stand decides whether this instance contends for planning: the first of the newest version does,
// which in a rolling update is the one that will remain, and knows the newest catalogue. The first
// few do where the planner is gone, and everyone does where no sign of one is seen for long.
func (l *loop) stand(now time.Duration) {
	if l.closing() || l.beat.version == 0 {
		return
	}
	job, there := l.e.set.Lookup(plannerKey)
	r := l.ranked()
	stands, newer := r.stands, now >= r.newer
	switch {
	case l.beat.failing:
		// It cannot plan what it does not see. Whoever can gets the key, unless this passes soon.
		if there && now-l.beat.since >= l.e.timing.HeartbeatTTL {
			l.e.set.Stop(plannerKey)
		}
	case there && job.State != runner.Standby:
		if newer {
			l.e.set.Stop(plannerKey)
		}
	case there && !stands && !l.overdue():
		l.e.set.Stop(plannerKey)
	case !there && !newer && (stands || l.overdue()):
		err := l.e.set.Start(runner.Spec{Key: plannerKey, Name: "planner", Work: l.e.reign, Info: "plans for the fleet", Reserved: reserved.Allow()})
		if err != nil {
			l.standAt = now + l.e.timing.HeartbeatInterval // an earlier term winds down still
		}
	}
}

// ranking is where this instance comes among those that may plan. It is kept until the members, or
// the planner, are others.
type ranking struct {
	members uint64
	planner instance.ID
	stands  bool          // it is among the first
	newer   time.Duration // when planning is left to an instance of a newer version, which must have been here for a while
}

func (l *loop) ranked() ranking {
	if r := l.rank; r.members == l.beat.version && r.planner == l.obey.head.Planner {
		return r
	}
	l.rank = ranking{members: l.beat.version, planner: l.obey.head.Planner, newer: forever}
	r := &l.rank
	if len(l.active) == 0 {
		return *r
	}
	newest := slices.MaxFunc(l.active, func(a, b registry.Member) int { return orderOf(a, b.JoinedAt, b) }).Version
	mine := l.e.self.Version == newest
	before, most := 0, standbys
	for _, m := range l.active {
		theirs := m.Version == newest
		if theirs && !mine {
			r.newer = min(r.newer, l.gone.since[m.ID]+l.e.timing.HeartbeatTTL)
		}
		switch {
		case m.ID == l.e.self.ID:
		case m.ID == r.planner:
			most = 1 // beside it
		case theirs && !mine, theirs == mine && orderOf(m, l.beat.joined, registry.Member{Instance: l.e.self}) < 0:
			before++
		}
	}
	r.stands = before < most
	return *r
}

// orderOf compares a member with another that joined at that time.
func orderOf(m registry.Member, joined time.Time, other registry.Member) int {
	return cmp.Or(m.JoinedAt.Compare(joined), cmp.Compare(m.ID, other.ID))
}

// overdue reports whether no sign of a planner has been seen for long.
func (l *loop) overdue() bool {
	o := &l.obey
	return o.answered && o.readAt-o.since >= overdueLooks*l.e.timing.HeartbeatInterval
}

// whoPlans says who wrote the plan that is obeyed, for people.
func (l *loop) whoPlans() string {
	if l.obey.head.Planner == "" {
		return "nobody"
	}
	return fmt.Sprintf("%s, epoch %d", l.obey.head.Planner, l.obey.head.Epoch)
}
