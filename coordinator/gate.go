package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// The gate: what is about to start here is first looked up in the status store, all of it in one
// call. What another live instance runs or winds down waits: it is looked up again with every
// heartbeat, and starts at once when its release is hinted at. The gate saves tries that would be
// refused. The lease alone keeps two owners apart; so where the status store does not answer, or a
// record stands longer than it can be true, the gate is open.

// heed uses the hints.
func (l *loop) heed(b batch, now time.Duration) {
	if b.members {
		l.beatSoon(now)
	}
	if b.planned {
		l.readSoon(now)
	}
	for key := range b.keys {
		j := l.jobs.waiting[key]
		switch {
		case l.jobs.all[key] == nil:
			l.planSoon(now)
		case j == nil:
		case j.asked:
			j.opened = true // the answer under way may be older than the release
		default:
			l.open(j)
		}
	}
	if b.all {
		l.lookAgain()
		l.planSoon(now)
	}
}

// open lets a waiting workload start, unless this instance takes nothing new.
func (l *loop) open(j *job) {
	if l.beat.failing || l.closing() {
		j.look = true
		return
	}
	l.start(j)
}

// lookAgain has everything that waits looked up anew.
func (l *loop) lookAgain() {
	for _, j := range l.jobs.waiting {
		j.look = true
	}
}

// look reads the status of the workloads that wait.
func (l *loop) look() {
	if l.gate.busy || l.beat.failing || l.closing() {
		return
	}
	var keys []string
	for key, j := range l.jobs.waiting {
		if j.look {
			j.look, j.asked, j.opened = false, true, false
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	ask(l, &l.gate, "Statuses", func(ctx context.Context) ([]status.Record, error) {
		return l.e.store.Statuses(ctx, keys)
	}, func(records []status.Record, _ time.Duration, err error) {
		l.looked(keys, records, err)
	})
}

// looked starts what may start.
func (l *loop) looked(keys []string, records []status.Record, err error) {
	if err != nil {
		l.e.logs(func(lg *slog.Logger) {
			lg.Warn("statuses unknown; starting without them", "workloads", len(keys), "error", err)
		})
	}
	byKey := make(map[string]status.Record, len(records))
	for _, r := range records {
		byKey[r.Key] = r
	}
	members := make(map[instance.ID]registry.Member, len(l.beat.members))
	for _, m := range l.beat.members {
		members[m.ID] = m
	}
	for _, key := range keys {
		j := l.jobs.waiting[key]
		if j == nil || !j.asked {
			continue // dropped meanwhile
		}
		opened := j.opened
		j.asked, j.opened = false, false
		why, limit := l.closed(byKey[key], members)
		if why != "" && !opened && l.pend(j, why) < limit {
			continue
		}
		l.open(j)
	}
}

// closed says why a workload with this record must not start here yet, empty where it may, and for
// how long that may be believed.
func (l *loop) closed(r status.Record, members map[instance.ID]registry.Member) (why string, limit time.Duration) {
	if r.Owner == "" || r.Owner == l.e.self.ID {
		return "", 0
	}
	owner, alive := members[r.Owner]
	switch t := l.e.timing; {
	case !alive:
		return "", 0
	case r.State == status.Transferring:
		return fmt.Sprintf("%s is winding it down", r.Owner), t.DrainTimeout + t.HardStop
	case r.State == status.Active && !l.calm && l.stance(r.Key) == local && !owner.Draining && !owner.Leaving:
		return fmt.Sprintf("%s runs it, and the fleet has not settled", r.Owner), forever
	case r.State == status.Active:
		return fmt.Sprintf("%s runs it", r.Owner), t.LeaseTTL
	}
	return "", 0
}

const forever = time.Duration(math.MaxInt64)
