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
			{"coordinator/beat.go", "b.at = min(b.at, now+v.NextExpiry+time.Millisecond+spread)", "_ = spread"},
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
		{"snapshot_shares_memory", []edit{
			{"coordinator/snapshot.go", "slices.Clone(shown.members)", "shown.members"},
		}, "coordinator", "TestSnapshotTellsAll", nil},
	}
}
