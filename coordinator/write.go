package coordinator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/lease"
)

// write has the store carry the plan. A plan that changes no set is written where it was made for another
// fleet than the last, and the head alone once in a while, so that the others see that there is a planner.
func (p *planner) write(ctx context.Context, f facts, plan assigner.Plan, now time.Duration) error {
	sets, gone := p.ledger.changes(plan, f.catalogue.print, f.incarnation)
	told := p.ledger.told
	changed := len(sets)+len(gone) > 0 || told.version != f.version || told.catalogue != f.catalogue || told.incarnation != f.incarnation
	if !changed && now-p.ledger.toldAt < quietLooks/2*p.e.timing.HeartbeatInterval {
		return nil
	}
	if changed {
		p.ledger.epoch++
	}
	head := p.head(f)
	head.History = p.record(f, now)
	for s, g := range assigner.Batches(sets, gone) {
		err := p.put(ctx, head, s, g)
		p.ledger.wrote(head, s, g, err)
		if err != nil {
			return err
		}
		head.History = nil // the first batch left it
	}
	p.ledger.told, p.ledger.toldAt = f, now
	if !changed {
		return nil
	}
	p.tell(PlannerWrote, summary(p.ledger.epoch, len(sets), plan))
	p.e.hint(lease.Change{Kind: lease.ChangePlanned}) // this instance obeys as well
	return nil
}

// summary tells of a plan in a line.
func summary(epoch uint64, sets int, plan assigner.Plan) string {
	why := map[assigner.Reason]int{}
	for _, m := range plan.Moves {
		why[m.Reason]++
	}
	var line strings.Builder
	fmt.Fprintf(&line, "epoch %d: %d workloads on %d instances, %d sets written", epoch, len(plan.Targets), len(plan.Quotas), sets)
	for _, r := range []assigner.Reason{assigner.Orphan, assigner.Evict, assigner.Rollout, assigner.Pin, assigner.Level} {
		if why[r] > 0 {
			fmt.Fprintf(&line, ", %d %s", why[r], r)
		}
	}
	if n := len(plan.Unplaceable); n > 0 {
		fmt.Fprintf(&line, ", %d unplaceable", n)
	}
	return line.String()
}

// record is what a successor inherits.
func (p *planner) record(f facts, now time.Duration) []byte {
	r := record{moves: p.moves.record(now)}
	for _, m := range f.members {
		r.members = append(r.members, recorded{m.ID, going(m)})
	}
	return r.encode()
}
