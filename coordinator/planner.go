package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/runner"
)

// plannerKey is the workload of planning for the fleet. Whoever holds it is the planner.
const plannerKey = "tenure:planner"

// planner plans for the fleet for one term. It lives on the goroutine of its workload, which is
// like any other: a lease says that it is the only one, and a drain ends it.
type planner struct {
	e    *engine
	cfg  PlannerConfig
	term *runner.Term
	gate call.Gate

	over    bool          // superseded: nothing is planned any more
	claimed bool          // nothing of the predecessor is written any more
	read    bool          // what the predecessor left was read
	wait    time.Duration // present backoff
	retryAt time.Duration

	agenda agenda
	guard  guard
	seen   facts // the facts at the last look
	ledger ledger
	moves  transit

	plan assigner.Plan
	last time.Duration // when the last round began
	pace time.Duration // present distance of looks at what is not done yet
	cold time.Duration // when the cold start was first noticed; 0: there is none
	warm bool          // something runs or is planned: no cold start
	said map[PlannerEventKind]string
}

// reign is the work of the planner's key.
func (e *engine) reign(ctx context.Context, term *runner.Term) error {
	p := &planner{
		e: e, cfg: e.planner, term: term, guard: guard{cfg: e.planner, window: e.timing.HeartbeatTTL},
		agenda: agenda{debounce: e.planner.Debounce, most: e.planner.DebounceMost},
		ledger: newLedger(), moves: newTransit(), said: map[PlannerEventKind]string{},
	}
	p.tell(PlannerElected, fmt.Sprintf("token %d", term.Token()))
	e.showReign(reigning{here: true})
	defer e.showReign(reigning{})
	timer := e.clock.NewTimer(p.step(ctx))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			p.tell(PlannerResigned, fmt.Sprint(context.Cause(ctx)))
			return context.Cause(ctx)
		case <-term.Draining():
			p.tell(PlannerResigned, "somebody else is to plan")
			return nil
		case <-e.news.wake:
		case <-timer.C():
		}
		timer.Reset(p.step(ctx))
	}
}

// step does what is due and returns how long nothing else will be.
func (p *planner) step(ctx context.Context) time.Duration {
	now, interval := p.e.line.Now(), p.e.timing.HeartbeatInterval
	switch {
	case p.over || !p.term.Valid():
		return interval // the end of the term follows
	case now < p.retryAt:
		return p.retryAt - now
	}
	f := p.e.news.get()
	if !p.read {
		if err := p.accede(ctx, f); err != nil {
			return p.failed(err)
		}
		p.agenda.urgent(now)
	}
	p.notice(f, now)
	if !f.able || f.frozen {
		return interval // the next news comes earlier
	}
	if due := p.agenda.next(); due > now {
		return min(due-now, interval)
	}
	if err := p.round(ctx, f, now); err != nil {
		return p.failed(err)
	}
	p.wait, p.retryAt = 0, 0
	return max(min(p.agenda.next()-p.e.line.Now(), interval), 0)
}

// notice compares the facts with those of the last look.
func (p *planner) notice(f facts, now time.Duration) {
	s := p.seen
	p.seen = f
	switch {
	case f.urgent != s.urgent, f.incarnation != s.incarnation, f.forgotten != s.forgotten, f.calm && !s.calm, f.able && !s.able, s.frozen && !f.frozen:
		p.agenda.urgent(now)
	case f.version != s.version && p.lacks():
		p.agenda.urgent(now) // whoever joined may run what nobody could
	case f.version != s.version, f.catalogue != s.catalogue, f.calm != s.calm:
		p.agenda.change(now)
	}
	if f.released != s.released {
		// One look per interval is the most that hints of releases can cause.
		p.agenda.by(max(now+p.e.timing.HeartbeatInterval/8, p.last+p.e.timing.HeartbeatInterval))
	}
	if f.forgotten != s.forgotten {
		p.ledger.doubtAll()
	}
}

// lacks reports whether something could not be placed.
func (p *planner) lacks() bool { return len(p.plan.Unplaceable) > 0 }

// failed draws the consequences of a call that was not done, and returns when to try again.
func (p *planner) failed(err error) time.Duration {
	now, interval := p.e.line.Now(), p.e.timing.HeartbeatInterval
	if errors.Is(err, assigner.ErrSuperseded) {
		p.over = true
		p.tell(PlannerSuperseded, err.Error())
		p.e.set.StepDown(plannerKey)
		return interval
	}
	p.wait = min(max(2*p.wait, interval/8), interval)
	p.retryAt = now + p.e.spread(p.wait)
	p.agenda.urgent(p.retryAt)
	p.e.showPlanErr(err)
	p.e.emitPlan(PlanEvent{Instance: p.e.self.ID, Err: err, Settled: p.seen.calm})
	p.e.logs(func(lg *slog.Logger) {
		lg.Warn("no plan could be made or written; what was written before stays in force", "instance", string(p.e.self.ID), "error", err)
	})
	return p.retryAt - now
}

// accede claims the fleet, so that nothing of a predecessor is written any more, and only then reads
// what it left.
func (p *planner) accede(ctx context.Context, f facts) error {
	if !p.claimed {
		head := p.head(f)
		head.Epoch = 0
		if err := p.put(ctx, head, nil, nil); err != nil {
			return err
		}
		p.claimed = true
	}
	type left struct {
		head assigner.Head
		sets []assigner.Set
	}
	was, err := ask1(ctx, p, "AllTargets", func(ctx context.Context) (l left, err error) {
		l.head, l.sets, err = p.e.mode.targets.AllTargets(ctx)
		return l, err
	})
	if err != nil {
		return err
	}
	if was.head.Newer(p.head(f)) {
		return assigner.ErrSuperseded
	}
	p.read = true
	p.ledger.read(was.sets, f.incarnation)
	rec, err := decodeRecord(was.head.History)
	if err != nil {
		p.e.logs(func(lg *slog.Logger) {
			lg.Warn("planning without the record of the planner before", "instance", string(p.e.self.ID), "error", err)
		})
	}
	p.inherit(rec, f)
	return nil
}

// inherit takes over what the predecessor knew: what moved lately, and who was there. Members that it
// knew and that are missing count as lost just now where this instance has not been here for long
// enough to have seen them go, and where others of them are left: a fleet that was stopped as a
// whole, and started again, lost nobody.
func (p *planner) inherit(rec record, f facts) {
	now := p.e.line.Now()
	for _, m := range rec.moves {
		p.moves.moved[m.key] = now - m.ago
	}
	if now-f.began >= p.guard.window {
		return
	}
	here := make(map[instance.ID]bool, len(f.members))
	for _, m := range f.members {
		here[m.ID] = true
	}
	for _, a := range f.lost {
		here[a.id] = true // known to be lost already
	}
	survivors := 0
	var lost []absent
	for _, m := range rec.members {
		switch {
		case here[m.id]:
			survivors++
		case !m.going:
			lost = append(lost, absent{m.id, now})
		}
	}
	if survivors > 0 {
		p.ledger.lost = lost
	}
}

// ask1 makes one store call, bounded whatever the store does.
func ask1[T any](ctx context.Context, p *planner, op string, f func(context.Context) (T, error)) (T, error) {
	return call.Do(ctx, &p.gate, op, p.e.timing.CallTimeout, f)
}

// put writes one batch, unless this is not the planner any more.
func (p *planner) put(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
	if !p.term.Valid() {
		return assigner.ErrSuperseded
	}
	_, err := ask1(ctx, p, "PutTargets", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.e.mode.targets.PutTargets(ctx, head, sets, gone)
	})
	return err
}

// head is the head of the present plan.
func (p *planner) head(f facts) assigner.Head {
	return assigner.Head{Token: p.term.Token(), Epoch: p.ledger.epoch, Planner: p.e.self.ID, Digest: p.plan.Digest, Incarnation: f.incarnation}
}

// tell logs and reports a decision, once while its reason is the same.
func (p *planner) tell(kind PlannerEventKind, why string) {
	if last, told := p.said[kind]; told && last == why {
		return
	}
	p.said[kind] = why
	p.e.decided(PlannerEvent{Kind: kind, Instance: p.e.self.ID, Token: p.term.Token(), Epoch: p.ledger.epoch, Why: why})
}
