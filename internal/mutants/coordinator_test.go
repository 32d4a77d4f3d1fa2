package mutants

// coordinatorMutants break the rules of a fleet's member.
func coordinatorMutants() []mutant {
	return []mutant{
		{"failing_heartbeats_unnoticed", []edit{
			{"coordinator/beat.go", "b.failing = true", "b.failing = false"},
		}, "coordinator", "TestFailingHeartbeats", nil},
		{"standby_claims_kept_while_failing", []edit{
			{"coordinator/reconcile.go", "ok && i.Token == 0", "ok && false && i.Token == 0"},
		}, "coordinator", "TestFailingHeartbeats", nil},
		{"view_without_reader_believed", []edit{
			{"coordinator/beat.go", "return listed", "return listed || true"},
		}, "coordinator", "TestViewsThatCannotBeTrue", nil},
		{"unknown_generation_believed", []edit{
			{"coordinator/beat.go", "return l.beat.known != 0 && v.Generation == l.beat.known", "return true"},
		}, "coordinator", "TestViewsThatCannotBeTrue", nil},
		{"death_noticed_at_the_next_interval", []edit{
			{"coordinator/beat.go", "spread; at < b.at {", "spread; false && at < b.at {"},
		}, "coordinator", "TestCrashIsTakenOver", nil},
		{"hint_during_a_heartbeat_forgotten", []edit{
			{"coordinator/beat.go", "b.again = true", "b.again = false"},
		}, "coordinator", "TestHintDuringAHeartbeat", nil},
		{"release_during_a_status_read_forgotten", []edit{
			{"coordinator/gate.go", "j.opened = true", "j.opened = false"},
		}, "coordinator", "TestReleaseDuringAStatusRead", nil},
		{"leaving_untold", []edit{
			{"coordinator/beat.go", "Leaving: l.leaving}", "Leaving: false}"},
		}, "coordinator", "TestStopBeatsAsLeaving", []string{"-test.timeout=30s"}},
		{"heartbeats_wait_for_trips_for_ever", []edit{
			{"coordinator/ride.go", "now < b.ride.until && l.e.trips", "l.e.trips"},
			{"coordinator/ride.go", "Within(b.ride.until-now)", "Within(time.Hour)"},
			{"coordinator/ride.go", "		b.at = b.ride.until\n", "		b.at = now + time.Hour\n"},
		}, "coordinator", "TestHeartbeatsOfAnotherInterval", nil},
		{"a_failed_trip_is_repeated_whole", []edit{
			{"lease/trip.go", "k.carrier != nil && k.lanes[laneRenew].wait == 0", "k.carrier != nil"},
			{"lease/trip.go", "!l.busy && l.wait == 0", "!l.busy"},
		}, "coordinator", "TestAPartThatHangs/Verify", nil},
		{"never_leaves", []edit{
			{"coordinator/run.go", "	l.leave()\n	close", "	close"},
		}, "coordinator", "TestStuckWorkerIsReported|TestStopBeatsAsLeaving", nil},
		{"moves_before_the_fleet_settled", []edit{
			{"coordinator/reconcile.go", "case !l.calm && stance == local && l.runs(j.key):", "case false:"},
		}, "coordinator", "TestJoinersGetTheirShare", nil},
		{"moves_in_a_freeze", []edit{
			{"coordinator/run.go", " && state.FrozenFor == 0", ""},
		}, "coordinator", "TestNothingIsLevelled", nil},
		{"own_leases_unknown_after_data_loss", []edit{
			{"coordinator/round.go", "range e.terms.unlisted(owners)", "range e.terms.unlisted(owners)[:0]"},
		}, "coordinator", "TestNothingIsLevelled", nil},
		{"gate_waits_for_the_dead", []edit{
			{"coordinator/gate.go", "case !alive:", "case !alive && false:"},
		}, "coordinator", "TestCrashIsTakenOver", nil},
		{"gate_needs_the_status_store", []edit{
			{"coordinator/gate.go", "	byKey := make(", "	if err != nil {\n\t\treturn\n\t}\n	byKey := make("},
		}, "coordinator", "TestStatusStoreIsNotNeeded", nil},
		{"half_a_plan_obeyed", []edit{
			{"coordinator/plan.go", "err = e.whole(plan, in)", "err = nil"},
		}, "coordinator", "TestAssignerThatHangs", nil},
		{"drain_only_told", []edit{
			{"coordinator/engine.go", "		e.set.DrainAll()\n", ""},
		}, "coordinator", "TestDrainBeforeRun", []string{"-test.timeout=30s"}},
		{"budget_spent_again_at_once", []edit{
			{"coordinator/plan.go", "len(in.InFlight) > 0 &&", "false &&"},
		}, "coordinator", "TestBudget", nil},
		{"joins_planned_at_once", []edit{
			{"coordinator/agenda.go", "min(now+a.debounce, a.first+a.most)", "now"},
		}, "coordinator", "TestJoinsAreCollected", nil},
		{"joins_collected_for_ever", []edit{
			{"coordinator/agenda.go", "min(now+a.debounce, a.first+a.most)", "now + a.debounce"},
		}, "coordinator", "TestJoinsAreCollected", nil},
		{"orphans_collected", []edit{
			{"coordinator/planner.go", "case f.urgent != s.urgent, f.inc", "case f.inc"},
		}, "coordinator", "TestJoinsAreCollected|TestDrainWaits", nil},
		{"mass_loss_believed", []edit{
			{"coordinator/hold.go", "if g.cfg.LossPercent < 0 ||", "if true ||"},
		}, "coordinator", "TestMassLoss", nil},
		{"leavers_counted_as_lost", []edit{
			{"coordinator/departures.go", "now >= d.safe &&", "true &&"},
		}, "coordinator", "TestDepartures", nil},
		{"cold_start_not_waited_for", []edit{
			{"coordinator/hold.go", "if p.warm || present", "if true || present"},
		}, "coordinator", "TestColdStart", nil},
		{"cold_start_waited_for_ever", []edit{
			{"coordinator/hold.go", "|| now >= until {", "|| false {"},
		}, "coordinator", "TestColdStart", []string{"-test.timeout=30s"}}, // it looks again and again, at once
		{"no_caps_on_moves", []edit{
			{"coordinator/transit.go", "if !levels(m) || !full {", "if _ = full; true {"},
		}, "coordinator", "TestCaps", nil},
		{"no_cool_down", []edit{
			{"coordinator/transit.go", "if now-at >= d {", "if _ = at; true {"},
		}, "coordinator", "TestCoolDown", nil},
		{"record_not_inherited", []edit{
			{"coordinator/planner.go", "p.inherit(rec, f)", "p.inherit(record{members: rec.members}, f)"},
		}, "coordinator", "TestCoolDown", nil},
		{"planner_never_settles", []edit{
			{"coordinator/round.go", "case !f.calm:", "case false:"},
		}, "coordinator", "TestJoinersGetTheirShare", nil},
		{"targets_of_an_earlier_incarnation_obeyed", []edit{
			{"coordinator/obey.go", "o.set.Found && o.set.Incarnation >= l.incarnation", "o.set.Found"},
		}, "coordinator", "TestOldSetsBeside", nil},
		{"absent_means_nothing", []edit{
			{"coordinator/obey.go", "return o.set.Found && o.set", "return o.answered || o.set"},
		}, "coordinator", "TestLostTargets", nil},
		{"lost_set_not_noticed", []edit{
			{"coordinator/round.go", "p.ledger.doubt(id)", "_ = id"},
		}, "coordinator", "TestLostSet", nil},
		{"half_a_plan_read_in_any_order", []edit{
			{"coordinator/ledger.go", "return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(a.Epoch, b.Epoch))", "return 0"},
		}, "coordinator", "TestLedger", nil},
		{"superseded_planner_goes_on", []edit{
			{"coordinator/planner.go", "p.over = true", "p.over = false"},
			{"coordinator/planner.go", "p.e.set.StepDown(plannerKey)", ""},
		}, "coordinator", "TestSuperseded", nil},
		{"blind_planner_stays", []edit{
			{"coordinator/stand.go", "now-l.beat.since >= l.e.timing.HeartbeatTTL", "false"},
		}, "coordinator", "TestPlannerThatSeesNothing", nil},
		{"all_contend_for_planning", []edit{
			{"coordinator/stand.go", "r.stands = before < most", "r.stands = before < 100*most"},
		}, "coordinator", "TestStandbys", nil},
		{"old_version_plans_on", []edit{
			{"coordinator/stand.go", "now >= r.newer", "false"},
		}, "coordinator", "TestPlanningGoes", nil},
		{"strange_plan_obeyed", []edit{
			{"coordinator/strange.go", "return s.named != nil && (", "return false && ("},
		}, "coordinator", "TestTwoCatalogues", nil},
		{"planner_asks_nothing_before_it_plans", []edit{
			{"coordinator/round.go", "if err := p.term.Check(ctx); err != nil {", "if err := context.Cause(ctx); err != nil {"},
		}, "coordinator", "TestPlannerTakesALoss", nil},
		{"caps_on_drains", []edit{
			{"coordinator/transit.go", "return m.Reason == assigner.Level || m.Reason == assigner.Pin", "return true"},
		}, "coordinator", "TestCaps", nil},
		{"snapshot_shares_memory", []edit{
			{"coordinator/snapshot.go", "slices.Clone(shown.members)", "shown.members"},
		}, "coordinator", "TestSnapshotTellsAll", nil},
	}
}
