package coordinator

import (
	"sync"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// facts are what the loop knows of the fleet and the planner plans by. What they refer to never changes.
type facts struct {
	able        bool // heartbeats work, and this instance stays
	members     []registry.Member
	version     uint64 // of members
	catalogue   *catalogue
	calm        bool // healthy workloads may move
	frozen      bool // the store grants nothing new
	incarnation uint64
	lost        []absent
	began       time.Duration // of this instance's views
	urgent      uint64        // rises with every change that leaves workloads without an owner
	released    uint64        // rises where something was released
	forgotten   uint64        // rises where the store was seen to have lost the planner's targets
}

// news carries the facts from the loop to the planner. It is safe for concurrent use.
type news struct {
	wake chan struct{}
	mu   sync.Mutex
	now  facts
}

func newNews() news { return news{wake: make(chan struct{}, 1)} }

// get returns the facts.
func (n *news) get() facts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// put replaces the facts, and wakes the planner where they changed.
func (n *news) put(f facts) {
	n.mu.Lock()
	news := !f.same(n.now)
	n.now = f
	n.mu.Unlock()
	if news {
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
}

func (f facts) same(o facts) bool {
	return f.able == o.able && f.version == o.version && f.catalogue == o.catalogue && f.calm == o.calm && f.frozen == o.frozen &&
		f.incarnation == o.incarnation && f.urgent == o.urgent && f.released == o.released && f.forgotten == o.forgotten
}

// tell publishes what the loop knows for the planner, which may be here.
func (l *loop) tell(state lease.State) {
	f := &l.facts
	f.able = !l.beat.failing && l.beat.version != 0 && !l.closing()
	f.members, f.version = l.beat.members, l.beat.version
	if f.catalogue != l.cat {
		if f.catalogue == nil || gains(f.catalogue, l.cat) {
			f.urgent++
		}
		f.catalogue = l.cat
	}
	f.calm, f.frozen, f.incarnation = l.calm, state.FrozenFor > 0, state.Incarnation
	f.lost, f.began = l.gone.lost, l.gone.began
	l.e.news.put(*f)
	l.e.showCalm(l.calm)
}

// gains reports whether a catalogue has a workload that the one before had not.
func gains(before, after *catalogue) bool {
	i := 0
	for _, w := range after.workloads {
		for i < len(before.workloads) && before.workloads[i].Key < w.Key {
			i++
		}
		if i == len(before.workloads) || before.workloads[i].Key != w.Key {
			return true
		}
	}
	return false
}
