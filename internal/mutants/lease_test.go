package mutants

import "slices"

// model runs the incarnation model long enough to find any ablation.
var model = []string{"-model.runs=3000"}

func all() []mutant {
	return slices.Concat(keeperMutants(), incarnationMutants(), runnerMutants(), coordinatorMutants(), simulationMutants())
}

// keeperMutants break the keeper's own rules.
func keeperMutants() []mutant {
	return []mutant{
		{"margin_ignored", []edit{
			{"lease/answers.go", "int64(a.sent+k.timing.LeaseTTL-k.timing.Margin)", "int64(a.sent+k.timing.LeaseTTL)"},
		}, "lease", "TestDeadlineCountsFromBeforeTheCall", nil},
		{"deadline_from_the_answer", []edit{
			{"lease/answers.go", "int64(a.sent+k.timing.LeaseTTL-k.timing.Margin)", "int64(k.line.Now()+k.timing.LeaseTTL-k.timing.Margin)"},
		}, "lease", "TestDeadlineCountsFromBeforeTheCall", nil},
		{"lapse_taken_for_an_error", []edit{
			{"lease/answers.go", "if errors.Is(a.err, ErrSessionLapsed) {", "if false && errors.Is(a.err, ErrSessionLapsed) {"},
		}, "lease", "TestLapsedSession", nil},
		{"unwanted_grant_kept", []edit{
			{"lease/answers.go", "k.releases = append(k.releases, pending{lease: l, entry: e})", "e.strays--"},
		}, "lease", "TestUnwantedGrant|TestEndedTerm", nil},
		{"unknown_acquire_forgotten", []edit{
			{"lease/answers.go", "if unknown {\n\t\t\te.unsettled = true", "if false {"},
		}, "lease", "TestUnwantedGrant", nil},
		{"sleep_not_counted", []edit{
			{"internal/clock/clock.go", "return awake + slept", "return awake"},
		}, "lease", "TestSlept", nil},
		{"released_under_a_stuck_worker", []edit{
			{"lease/run.go", "if !stuck {", "if true {"},
		}, "lease", "TestStopLeaves", nil},
		{"renewed_blindly", []edit{
			{"lease/answers.go", "for _, l := range a.verification.Lost {", "for _, l := range []Loss(nil) {"},
		}, "lease", "TestRecordRemoved", nil},
		{"hints_shorten_a_chosen_wait", []edit{
			{"lease/watch.go", "max(now, e.notBefore, e.lastTry+hintPause)", "max(now, e.lastTry+hintPause)"},
		}, "lease", "TestContendAfter", nil},
		{"waits_for_a_hanging_call", []edit{
			{"internal/call/call.go", "case <-ctx.Done():\n\t}", "case a := <-done:\n\t\treturn a.v, a.err\n\t}"},
		}, "lease", "TestTermEnds|TestCheck", []string{"-test.timeout=20s"}},
		{"idle_session_kept", []edit{
			{"lease/schedule.go", "if k.idle(now) {\n\t\t// Nothing hangs off it", "if false {\n\t\t// Nothing hangs off it"},
		}, "lease", "TestNoSession", nil},
		{"one_gate_for_all_calls", []edit{
			{"lease/answers.go", "call.Do(ctx, &k.gates[r.lane], r.op,", "call.Do(ctx, &k.gates[0], r.op,"},
		}, "lease", "TestOneKindOfCall", nil},
		{"outdated_answer_believed", []edit{
			{"lease/answers.go", "err = <-a.heard", "<-a.heard; err = a.err"},
		}, "lease", "TestCheckBelieves", nil},
		{"verified_before_an_unknown_renewal", []edit{
			{"lease/answers.go", "k.doubts++ // a Verify", "k.doubts += 0 // a Verify"},
		}, "lease", "TestPerKeyRenewal", nil},
		{"granted_after_an_unknown_renewal", []edit{
			{"lease/answers.go", "k.end(l.Key, l.Token) // its grant", "_ = l // its grant"},
		}, "lease", "TestPerKeyRenewal", nil},
		{"missed_lock_not_asked_for_again", []edit{
			{"lease/perkey.go", "case now == round:", "case now >= round:"},
		}, "lease", "TestPerKeyRenewal", nil},
		{"remnants_not_released", []edit{
			{"lease/answers.go", "		k.releaseAgain()\n", ""},
		}, "lease", "TestVerifyThatIsCarriedOutLate", nil},
		{"remnants_released_under_a_worker", []edit{
			{"lease/again.go", "case e.hold != nil && !e.hold.releasing && e.hold.lease.Token == token:", "case false:"},
		}, "lease", "TestReleasingAgain", nil},
		{"seen_end_forgotten", []edit{
			{"lease/hold.go", "h.passed.Store(true)", ""},
		}, "lease", "TestTermThatWasSeen", nil},
		{"lapses_reopened_in_a_tight_loop", []edit{
			{"lease/run.go", "max(k.line.Now()+open.wait, begun+k.timing.backoff(0))", "max(k.line.Now()+open.wait, begun)"},
		}, "lease", "TestSessionsThatLapse", []string{"-test.timeout=10s"}},
	}
}

// incarnationMutants drop one rule each of the protocol for stores that lose data.
func incarnationMutants() []mutant {
	return []mutant{
		{"late_answer_accepted", []edit{
			{"lease/run.go", "if now >= h.deadline() {", "if false && now >= h.deadline() {"},
			{"lease/run.go", "s.open && now >= time.Duration(s.deadline.Load())", "false && now > 0"},
			{"lease/schedule.go", "r.limit = min(r.limit, time.Duration(s.deadline.Load())-now)", ""},
		}, "lease", "TestIncarnationModel$", model},
		{"late_renewal_revives", []edit{
			{"lease/answers.go", "k.expire(now)", ""},
		}, "lease", "TestRenewalThatIsAnsweredAfter", nil},
		{"lengthened_freeze_not_noticed", []edit{
			{"lease/answers.go", "k.thawing = true // also", "_ = 0 // also"},
		}, "lease", "TestLengthenedFreeze", nil},
		{"earlier_incarnation_accepted", []edit{
			{"lease/answers.go", "if in.Number < k.incarnation {", "if false {"},
			{"lease/answers.go", "h.fixed.Store(int64(h.deadline()))", ""},
		}, "lease", "TestIncarnationModel$", model},
		{"unproven_leases_renewed", []edit{
			{"lease/answers.go", "h.fixed.Store(int64(h.deadline()))", ""},
		}, "lease", "TestIncarnationModel$|TestRenewalExtendsOnly", model},
		{"ended_terms_forgotten", []edit{
			{"lease/answers.go", " || l.Token <= k.newestEnded(e.key) {", " {"},
		}, "lease", "TestIncarnationModel$|TestEndedTerm", model},
		{"records_without_number", []edit{
			{"memory/leases.go", "if r.incarnation != in.Number {", "if false {"},
			{"memory/leases.go", "case same && r.incarnation == in.Number:", "case same:"},
		}, "lease", "TestIncarnationModel$", model},
		{"granted_while_frozen", []edit{
			{"memory/leases.go", "case in.FrozenFor > 0:\n\t\t\t\tg.Refused", "case false:\n\t\t\t\tg.Refused"},
		}, "lease", "TestIncarnationModel$", model},
	}
}
