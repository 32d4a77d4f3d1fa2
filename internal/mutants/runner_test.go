package mutants

// runnerMutants break the rules of a workload's life.
func runnerMutants() []mutant {
	return []mutant{
		{"released_before_the_return", []edit{
			{"runner/machine.go", "	close(r.drain)\n", "	close(r.drain)\n	r.hold.Release()\n"},
		}, "runner", "TestEndOfATerm|TestLeaseIsRenewedWhileDraining|TestWorkRunsWhile", nil},
		{"started_on_stop", []edit{
			{"runner/machine.go", "	if s.workloads[w.spec.Key] != w || w.run.Load() != nil {", "	if w.run.Load() != nil {"},
			{"runner/machine.go", "!h.Valid() || s.stopping || now < w.contendsAt()", "now < w.contendsAt()"},
		}, "runner", "TestAGrantThatMeetsItsStop", nil},
		{"started_under_a_lost_lease", []edit{
			{"runner/machine.go", "!h.Valid() || s.stopping || now", "s.stopping || now"},
		}, "runner", "TestALoopThatWasHeldUp", nil},
		{"drain_cancels_at_once", []edit{
			{"runner/machine.go", "	s.arm(w, s.timing.DrainTimeout)\n", "	s.arm(w, 0)\n"},
		}, "runner", "TestDrainTimeout|TestLeaseIsRenewedWhileDraining", nil},
		{"drain_never_cancels", []edit{
			{"runner/machine.go", "		r.cancel(drain.ErrTimeout)\n", "		_ = drain.ErrTimeout\n"},
		}, "runner", "TestDrainTimeout", nil},
		{"work_is_a_child_of_run", []edit{
			{"runner/run.go", "context.WithoutCancel(ctx), calls", "ctx, calls"},
		}, "runner", "TestWorkerContextOutlives", nil},
		{"inactive_after_the_release", []edit{
			{"runner/machine.go", "	s.arm(w, s.timing.CallTimeout)\n", "	s.release(w, r)\n"},
		}, "runner", "TestALeaseIsKeptUntilItsLastStatus", nil},
		{"release_waits_for_the_status_store", []edit{
			{"runner/machine.go", "	s.arm(w, s.timing.CallTimeout)\n", "	s.arm(w, 1000*s.timing.CallTimeout)\n"},
			{"internal/call/call.go", "case <-ctx.Done():\n\t}", "case a := <-done:\n\t\treturn a.v, a.err\n\t}"},
		}, "runner", "TestAHangingStatusStore", []string{"-test.timeout=30s"}},
		{"stuck_work_released", []edit{
			{"runner/machine.go", "	r.stuck = true\n", "	r.stuck = true\n	r.hold.Release()\n"},
		}, "runner", "TestStuckWorkerKeeps", []string{"-test.timeout=20s"}},
		{"lost_work_not_cancelled", []edit{
			{"runner/workload.go", "		r.cancel(why)\n", ""},
		}, "runner", "TestHungStore|TestLostWork", []string{"-test.timeout=30s"}},
		{"panic_ends_the_process", []edit{
			{"runner/workload.go", "if p := recover(); p != nil {\n\t\t\terr =", "if p := any(nil); p != nil {\n\t\t\terr ="},
		}, "runner", "TestPanicIsAFailure", nil},
		{"backoff_never_reset", []edit{
			{"runner/policy.go", "			w.streak = 0\n		}\n", "		}\n"},
		}, "runner", "TestFailedWork|TestBackoff|TestRestart", nil},
		{"backoff_ignored", []edit{
			{"runner/policy.go", "s.line.Now() + s.cfg.Backoff.wait(n, s.clock.Float64())", "s.line.Now() + s.cfg.Backoff.wait(n, s.clock.Float64())/4"},
		}, "runner", "TestFailedWork", nil},
		{"expired_work_is_finished", []edit{
			{"runner/workload.go", "lost == nil && !r.hold.Valid()", "false"},
		}, "runner", "TestWorkThatReturnsFromAn", nil},
		{"step_down_contends_at_once", []edit{
			{"runner/policy.go", "w.yieldUntil = now + s.timing.LeaseTTL", "w.yieldUntil = now"},
		}, "runner", "TestStepDown", []string{"-test.timeout=30s"}},
		{"revocation_is_contested", []edit{
			{"runner/machine.go", "		w.yielding = true // an operator", "		// an operator"},
		}, "runner", "TestRevokedLease", nil},
		{"stop_never_gives_up", []edit{
			{"runner/run.go", "return now >= s.deadline && s.unreleased == s.working", "return false"},
		}, "runner", "TestStuckWorkerAtTheEnd", []string{"-test.timeout=30s"}},
		{"second_run_allowed", []edit{
			{"runner/run.go", "if s.phase == running {", "if false {"},
		}, "runner", "TestOneRunAtATime", []string{"-test.timeout=10s"}},
	}
}
