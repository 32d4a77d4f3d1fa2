package coordinator

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// A fleet has one planner, and it plans the catalogue that it has. Somebody else's may be another one: a
// program that runs several coordinators, each with workloads of its own, or a deployment whose new
// version has more of them. So the planner leaves a fingerprint of its catalogue beside the sets.
// Where it is not this instance's own, the whole plan is read: what it names is obeyed, and what it does
// not name is planned here, as where everyone plans.

// catalogueID is where the fingerprint is kept among the sets; no instance is called so.
const catalogueID instance.ID = "tenure:catalogue"

// stranger is what is known of a plan that is made of another catalogue. The loop owns it.
type stranger struct {
	print   uint64              // of the planner's catalogue; 0: unknown
	token   uint64              // of the head that it was read under
	claimed bool                // that planner had not planned yet
	differs bool                // it is not this instance's
	since   time.Duration       // since when
	named   map[string]struct{} // what the plan speaks of; nil: not read
	epoch   uint64              // of the head that it was read under
	readAt  time.Duration
	ours    bool   // it speaks of something that is in this catalogue
	version uint64 // rises with every change of named
}

// reading is the answer to a look at the targets.
type reading struct {
	head  assigner.Head
	set   assigner.Set
	print uint64 // 0: not read
	sets  []assigner.Set
}

// readTargets reads this instance's set and, where the planner is new or strange, what it plans.
func (e *engine) readTargets(ctx context.Context, s stranger, own uint64, now time.Duration) (r reading, err error) {
	if r.head, r.set, err = e.mode.targets.TargetsOf(ctx, e.self.ID); err != nil {
		return r, err
	}
	fresh := r.head.Token != s.token || s.claimed && r.head.Epoch > 0
	if r.head.Token == 0 || !fresh && s.print == own {
		return r, nil
	}
	_, about, err := e.mode.targets.TargetsOf(ctx, catalogueID)
	if err != nil || len(about.Keys) != 1 {
		return r, err
	}
	if r.print, err = strconv.ParseUint(about.Keys[0], 16, 64); err != nil {
		return r, nil //nolint:nilerr // somebody else's print: unknown
	}
	read := s.named != nil && (r.head.Token == s.token && r.head.Epoch == s.epoch || now-s.readAt < e.timing.HeartbeatInterval)
	// A catalogue that changes everywhere does so within moments; a new planner's may be another list.
	settled := fresh || s.differs && now-s.since >= 2*e.timing.HeartbeatInterval
	if r.print != own && settled && !read {
		_, r.sets, err = e.mode.targets.AllTargets(ctx)
	}
	return r, err
}

// meet notes what a reading says of the planner's catalogue.
func (l *loop) meet(now time.Duration, r reading) {
	s := &l.obey.strange
	if r.print != 0 {
		s.print, s.token, s.claimed = r.print, r.head.Token, r.head.Epoch == 0
	}
	differs := s.print != 0 && s.print != l.cat.print
	if differs && !s.differs {
		s.since = now
	}
	if s.differs = differs; !differs {
		if s.named != nil {
			s.named, l.dirty = nil, true
			s.version++
		}
		return
	}
	if r.sets == nil {
		return
	}
	s.named, s.epoch, s.readAt, s.ours = map[string]struct{}{}, r.head.Epoch, now, false
	for _, set := range r.sets {
		for _, key := range set.Keys {
			s.named[key] = struct{}{}
			s.ours = s.ours || l.cat.find(key) >= 0
		}
	}
	s.version++
	l.dirty = true
	l.e.noteOnce(&l.strangeTold, fmt.Sprintf("the plan of %s is of another catalogue: what it does not name is planned here", r.head.Planner))
}

// foreign reports whether what the plan does not name is planned here: at once where the plan has
// nothing to do with this catalogue, and otherwise once it had the time to follow a change.
func (l *loop) foreign(now time.Duration) bool {
	s := &l.obey.strange
	return s.named != nil && (!s.ours || now-s.since >= l.e.timing.LeaseTTL)
}

// stance is how this instance comes to know whether it should run a workload.
type stance int

const (
	unsure stance = iota // nobody says: what runs goes on, nothing new is taken
	obeyed               // the fleet's plan says
	local                // a plan made here says
)

func (l *loop) stance(key string) stance {
	if !l.e.obeys() {
		return local
	}
	if l.obey.strange.named != nil {
		if _, named := l.obey.strange.named[key]; !named {
			if l.alone && l.plan.strange == l.obey.strange.version {
				return local
			}
			return unsure // until a plan was made here
		}
	}
	if !l.knows() {
		return unsure
	}
	return obeyed
}

// isMine reports whether this instance should run a workload.
func (l *loop) isMine(key string) bool {
	mine := false
	switch l.stance(key) {
	case obeyed:
		_, mine = l.obey.keys[key]
	case local:
		_, mine = l.plan.mine[key]
	case unsure:
	}
	return mine
}

// ownWorkloads are those that are planned here.
func (l *loop) ownWorkloads() []assigner.Workload {
	if !l.e.obeys() {
		return l.cat.workloads
	}
	var own []assigner.Workload
	for _, w := range l.cat.workloads {
		if _, named := l.obey.strange.named[w.Key]; !named {
			own = append(own, w)
		}
	}
	return own
}
