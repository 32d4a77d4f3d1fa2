package mutants

// simulated runs as many schedules as a wrong engine may survive at most.
var simulated = []string{"-seeds=1000", "-shrink=false", "-spare=liveness"}

// simulationMutants break one promise each; whole fleets in random trouble must find it.
func simulationMutants() []mutant {
	sim := func(name string, edits ...edit) mutant {
		return mutant{"sim_" + name, edits, "internal/sim", "TestSeeds$", simulated}
	}
	return []mutant{
		// Deadlines.
		sim("margin_ignored", edit{"lease/answers.go", "int64(a.sent+k.timing.LeaseTTL-k.timing.Margin)", "int64(a.sent+k.timing.LeaseTTL)"}),
		sim("deadline_from_the_answer", edit{"lease/answers.go", "int64(a.sent+k.timing.LeaseTTL-k.timing.Margin)", "int64(k.line.Now()+k.timing.LeaseTTL-k.timing.Margin)"}),
		sim("sleep_not_counted", edit{"internal/clock/clock.go", "return awake + slept", "return awake"}),
		sim("sleep_not_looked_for", edit{"lease/schedule.go", "if p := k.clock.SleepPoll(); p > 0 {", "if p := k.clock.SleepPoll(); false && p > 0 {"}),
		sim("waits_for_a_hanging_call", edit{"internal/call/call.go", "case <-ctx.Done():\n\t}", "case a := <-done:\n\t\treturn a.v, a.err\n\t}"}),
		sim("one_lost_call_ends_the_session", edit{"lease/answers.go", "	if a.err != nil {\n		k.failed(a, now)", "	if a.err != nil && a.op == \"Renew\" {\n		k.dropSession(ReasonUnreachable)\n		return a.err\n	}\n	if a.err != nil {\n		k.failed(a, now)"}),
		sim("lost_work_not_cancelled", edit{"runner/workload.go", "		r.cancel(why)\n", ""}),
		// Ends of terms.
		sim("released_before_the_return", edit{"runner/machine.go", "	close(r.drain)\n", "	close(r.drain)\n	r.hold.Release()\n"}),
		sim("stuck_work_released", edit{"runner/machine.go", "	r.stuck = true\n", "	r.stuck = true\n	r.hold.Release()\n"}),
		sim("stuck_work_let_go_at_the_end", edit{"lease/run.go", "if !stuck {", "if true {"}),
		sim("work_is_a_child_of_run", edit{"runner/run.go", "s.workCtx, s.callCtx = context.WithoutCancel(ctx), calls", "s.workCtx, s.callCtx = ctx, calls"}),
		sim("drain_cancels_at_once", edit{"runner/machine.go", "	s.arm(w, s.timing.DrainTimeout)\n", "	s.arm(w, 0)\n"}),
		sim("drain_never_cancels", edit{"runner/machine.go", "		r.cancel(drain.ErrTimeout)\n", "		_ = drain.ErrTimeout\n"}),
		sim("stop_never_gives_up", edit{"runner/run.go", "return now >= s.deadline && s.unreleased == s.working", "return false"}),
		// Advice.
		sim("empty_view_obeyed", edit{"coordinator/beat.go", "return listed", "return listed || true"}),
		sim("failing_heartbeats_unnoticed", edit{"coordinator/beat.go", "b.failing = true", "b.failing = false"}),
		sim("leaving_told_as_draining", edit{"coordinator/beat.go", "Draining: l.e.isDraining(), Leaving: l.leaving}", "Draining: l.e.isDraining() || l.leaving, Leaving: l.leaving}"}),
		sim("leaves_while_it_waits_for_a_heartbeat", edit{"coordinator/run.go", "	for l.beat.lane.busy {", "	for false {"}),
		sim("never_leaves", edit{"coordinator/run.go", "	l.leave()\n	close", "	close"}),
		// Incarnations, one rule each.
		sim("earlier_incarnation_accepted", edit{"lease/answers.go", "if in.Number < k.incarnation {", "if false {"}),
		sim("unproven_leases_renewed", edit{"lease/answers.go", "h.fixed.Store(int64(h.deadline()))", ""}),
		sim("ended_terms_forgotten", edit{"lease/answers.go", " || l.Token <= k.newestEnded(e.key) {", " {"}),
		sim("records_without_number",
			edit{"memory/leases.go", "if r.incarnation != in.Number {", "if false {"},
			edit{"memory/leases.go", "case same && r.incarnation == in.Number:", "case same:"}),
		sim("granted_while_frozen", edit{"memory/leases.go", "case in.FrozenFor > 0:\n\t\t\t\tg.Refused", "case false:\n\t\t\t\tg.Refused"}),
		sim("no_freeze", edit{"memory/data.go", "f.begin(now, now.Add(f.cfg.MaxTTL))", "f.begin(now, now)"}),
		// Stores.
		sim("lapsed_session_renewed", edit{"memory/sessions.go", "if !now.Before(known.expires) && r.Incarnation.FrozenFor == 0 {", "if false {"}),
		sim("token_counts_from_what_is_left", edit{"memory/leases.go", "f.floor = max(f.floor+1, micros(now))", "f.floor = max(f.floor+1, 1)"}),
		sim("granted_twice", edit{"memory/leases.go", "case left > 0:\n\t\t\t\tg.Refused = append(g.Refused, lease.Refusal{Key: key, Owner: r.Owner, RetryAfter: left})", "case left > 9*s.cfg.MaxTTL/10:\n\t\t\t\tg.Refused = append(g.Refused, lease.Refusal{Key: key, Owner: r.Owner, RetryAfter: left})"}),
	}
}
