package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tenure-go/tenure/instance"
)

// event is something that the world does at a time.
type event struct {
	at time.Duration
	do func()
}

// stage is the world's own timetable.
type stage struct{ events []event }

func (g *stage) add(at time.Duration, do func()) {
	i := len(g.events)
	for i > 0 && g.events[i-1].at > at {
		i--
	}
	g.events = slices.Insert(g.events, i, event{at, do})
}

// run plays the schedule, lifts all faults, waits for everything to be well, and ends it.
func (w *world) run() {
	var g stage
	for n := range w.s.Slots {
		g.add(time.Duration(n)*700*time.Millisecond, func() { w.start(n, 0) })
	}
	length := time.Duration(w.s.Length)
	for at := time.Duration(0); at < length; at += 250 * time.Millisecond {
		g.add(at+37*time.Microsecond, w.check)
	}
	if w.s.Guarded {
		for at := time.Duration(0); at < length; at += ttl * 7 / 40 {
			g.add(at, w.server.keep)
		}
	}
	for _, st := range w.s.Steps {
		g.add(time.Duration(st.At)+time.Microsecond, func() { w.act(&g, st) })
	}
	for len(g.events) > 0 && !w.failed() {
		e := g.events[0]
		g.events = g.events[1:]
		if e.at < length {
			wait(e.at - time.Since(w.began))
		}
		e.do() // what is left at the end is undone at once
	}
	w.heal()
	if !w.failed() {
		w.settle()
	}
	w.end()
}

// act does a step, and puts its undoing on the stage.
func (w *world) act(g *stage, st step) {
	w.note("--- %v", st)
	undo := func(f func()) { g.add(time.Duration(st.At+st.For)+time.Microsecond, f) }
	switch st.Do {
	case revoke:
		w.server.revoke(append([]string{leaderKey}, keyName(st.N))[min(st.N, 1)])
		return
	case catalogue:
		w.setKeys(st.N)
		for _, p := range w.all {
			if err := p.coordinator.SetWorkloads(w.workloads()); err != nil {
				w.fail("set-up", "%v", err)
			}
		}
		return
	case wipe:
		w.server.lose(-1)
		return
	case restore:
		w.server.lose(st.N)
		return
	case trap:
		w.server.arm(true)
		return
	case untrap:
		w.server.untrap()
		return
	}
	p := w.slots[st.Slot]
	if p == nil || !p.alive() {
		return
	}
	switch st.Do {
	case cut, refuse, hang, halfDone, slow, lie:
		f := p.link.add(st.Do, st.On)
		undo(func() { p.link.lift(f) })
	case pause, suspend:
		if p.freeze(st.Do == suspend) {
			w.count("pauses")
			undo(p.thaw)
		}
	case stepDown:
		w.stepDown(p)
	case crash:
		p.kill()
		undo(func() { w.replace(p, st.N) })
	case stop:
		p.tell()
		undo(func() { w.replace(p, st.N) })
	case mark:
		w.mark(p)
		undo(func() {
			p.tell()
			w.replace(p, st.N)
		})
	}
}

// replace starts another process in the slot of one that is gone.
func (w *world) replace(p *process, version int) {
	if w.slots[p.slot] == p {
		w.start(p.slot, version)
	}
}

func (w *world) stepDown(p *process) {
	w.mu.Lock()
	w.stepped[p] = time.Now()
	w.mu.Unlock()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.leader.StepDown(over) // it goes on
}

func (w *world) mark(p *process) {
	p.mu.Lock()
	p.marked = true
	p.mu.Unlock()
	go func() {
		_ = p.coordinator.BeginDrain(p.ctx) // an error says that the store could not be told; heartbeats tell it again
		_ = p.leader.BeginDrain(p.ctx)      // always nil
	}()
}

// heal lifts every fault and fills every slot.
func (w *world) heal() {
	w.note("--- all faults are lifted")
	w.calmed.Store(true)
	w.server.arm(false)
	for _, p := range w.all {
		p.link.mu.Lock()
		faults := slices.Clone(p.link.faults)
		p.link.mu.Unlock()
		for _, f := range faults {
			p.link.lift(f)
		}
		p.thaw()
	}
	for n, p := range w.slots {
		if p == nil || !p.serves() {
			if p != nil && p.alive() {
				p.tell()
			}
			w.start(n, 7)
		}
	}
}

// patience bounds the time from the end of all faults until all is well: what may still be on its way, a lease
// and a membership that must expire, a freeze, a drain that times out, and the settling of the fleet.
func (w *world) patience() time.Duration {
	t := w.timing
	return 2*ttl + t.WorstFailover() + ttl + t.WorstHandover() + 10*t.HeartbeatInterval
}

// settle waits until every workload is where it should be, and stays there.
func (w *world) settle() {
	healed, quiet := time.Now(), time.Time{}
	last := ""
	for !w.failed() {
		w.check()
		why, where := w.unsettled()
		switch {
		case why != "" && time.Since(healed) > w.patience():
			w.fail("liveness", "%v after all faults ended, %s", time.Since(healed).Round(time.Millisecond), why)
			w.describe()
			return
		case why != "" || where != last:
			quiet = time.Now()
		case time.Since(quiet) > 3*w.timing.HeartbeatInterval:
			w.mu.Lock()
			w.stats.settle = quiet.Sub(healed)
			w.mu.Unlock()
			return
		}
		if last = where; why == "" && time.Since(healed) > 2*w.patience() {
			w.fail("liveness", "workloads are moved for ever: %s", where)
			return
		}
		wait(173 * time.Millisecond)
	}
}

// describe notes what everybody thinks.
func (w *world) describe() {
	held, err := w.server.store.Leases(context.Background())
	w.note("the store holds %v (%v)", held, err)
	for _, p := range w.slots {
		s := p.coordinator.Snapshot()
		w.note("%s: lease %+v, beat %+v, plan at %v (%v), settled %v", p.id, s.Lease, s.Beat, s.Plan.At.Sub(w.began), s.Plan.Err, s.Plan.Settled)
		w.note("%s plans %v", p.id, s.Plan.Plan.Targets)
		for _, l := range s.Workloads {
			w.note("%s has %q %s %q, runner %s, token %d, holder %q, contends at %v", p.id, l.Key, l.Phase, l.Why, l.Runner.State, l.Runner.Token, l.Runner.Holder, l.Runner.ContendsAt.Sub(w.began))
		}
		l := p.leader.Info()
		w.note("%s leads: %s, token %d, holder %q, contends at %v, %+v", p.id, l.State, l.Token, l.Holder, l.ContendsAt.Sub(w.began), p.leader.LeaseState())
	}
}

// unsettled says what is missing; empty: nothing. where is who runs what.
func (w *world) unsettled() (why, where string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts, cohorts := map[instance.ID]int{}, map[int]bool{}
	for _, p := range w.slots {
		counts[p.id], cohorts[p.cohort] = 0, true
	}
	keys := []string{leaderKey}
	for key := range w.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for key, all := range w.open {
		if len(all) > 0 && !slices.Contains(keys, key) {
			why = fmt.Sprintf("%q is run by %s, and not in the catalogue", key, all[0].p.id)
		}
	}
	for _, key := range keys {
		all := slices.DeleteFunc(slices.Clone(w.open[key]), func(s *shift) bool { return !s.p.alive() })
		switch {
		case len(all) == 0:
			return fmt.Sprintf("nobody runs %q", key), ""
		case len(all) > 1:
			return fmt.Sprintf("%d run %q", len(all), key), ""
		case w.slots[all[0].p.slot] != all[0].p:
			return fmt.Sprintf("%s runs %q, and should stop", all[0].p.id, key), ""
		}
		where += fmt.Sprintf("%s on %s, ", key, all[0].p.id)
		if key != leaderKey {
			counts[all[0].p.id]++
		}
	}
	least, most := len(keys), 0
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	if most-least > 1 && why == "" && len(cohorts) == 1 { // in a rollout, placement follows other rules
		why = fmt.Sprintf("the load is uneven: %s", where)
	}
	return why, where
}

// checkLeft holds that whoever stopped in good order has left, unless a heartbeat came late: a copy of one, or one that
// was under way for longer than any call is waited for.
func (w *world) checkLeft() {
	view, err := w.server.store.Members(context.Background())
	if w.failed() {
		return
	}
	for _, p := range w.all {
		if _, in := view.Find(p.id); (in || err != nil) && p.alive() && !p.gaveUp() {
			w.fail("S7", "%s has stopped, and is a member still (%v)", p.id, err)
		}
	}
}

// end stops everybody, and holds the end to S4 and S7: it comes in time, and nothing is left.
func (w *world) end() {
	for _, p := range w.all {
		if p.alive() {
			p.tell()
		}
	}
	bound := w.timing.DrainTimeout + w.timing.HardStop + 6*w.timing.CallTimeout
	deadline := time.After(bound)
	for _, p := range w.all {
		select {
		case <-p.done:
			p.ended()
		case <-deadline:
			w.fail("S7", "%s: Run has not returned %v after it was told to stop", p.id, bound)
		}
	}
	wait(ttl / 16) // the longest that a call is on its way now
	w.checkLeft()
	wait(10 * ttl) // what is on its way arrives
	if w.failed() {
		return
	}
	view, err := w.server.store.Members(context.Background())
	if err != nil || len(view.Members) > 0 {
		w.fail("S7", "after all have stopped there are %d members (%v)", len(view.Members), err)
	}
	held, err := w.server.store.Leases(context.Background())
	if err != nil || len(held) > 0 {
		w.fail("S7", "after all have stopped there are %d leases (%v)", len(held), err)
	}
}
