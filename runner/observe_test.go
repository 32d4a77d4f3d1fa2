package runner

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/long"
	"github.com/tenure-go/tenure/lease"
)

// Failures 27, 29.
func TestStateEventsFormAChainAndEveryTermEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		first, second := &recorder{}, &recorder{}
		set := mustSet(t, store, "a", Config{Observers: []any{first, second, "not an observer"}, Backoff: Backoff{Min: time.Second, Max: time.Second}})
		n := 0
		mustStart(t, set, Spec{Key: "job", Name: "a job", Work: func(ctx context.Context, term *Term) error {
			if n++; n%2 == 1 {
				return errWork
			}
			return untilDrain(ctx, term)
		}})
		s := begin(t, set.Run)
		for range 10 {
			pass(5 * time.Second)
			set.StepDown("job")
			pass(exact.LeaseTTL)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		state, at := State(""), time.Time{}
		tokens, terms := map[uint64]bool{}, 0
		for _, e := range first.states.get() {
			if e.From != state || e.Key != "job" || e.Name != "a job" || !at.IsZero() && e.In != e.At.Sub(at) {
				t.Fatalf("after %q: %+v", state, e)
			}
			if (e.To == Active || e.To == Draining) != (e.Token != 0) && e.From == Standby {
				t.Errorf("token of %+v", e)
			}
			if e.To == Active {
				if tokens[e.Token] {
					t.Errorf("token %d twice", e.Token)
				}
				tokens[e.Token] = true
				terms++
			}
			state, at = e.To, e.At
		}
		if works := first.works.get(); state != Stopped || len(works) != terms || terms < 10 {
			t.Errorf("it ends in %q, %d terms, %d ends", state, terms, len(works))
		}
		if len(second.states.get()) != len(first.states.get()) || len(second.works.get()) != len(first.works.get()) {
			t.Error("the second observer missed something")
		}
	})
}

// blocker is an observer and log handler that blocks.
type blocker struct{ let chan struct{} }

func (b blocker) ObserveState(StateEvent)                   { <-b.let }
func (b blocker) ObserveStatus(StatusEvent)                 { <-b.let }
func (b blocker) ObserveWork(WorkEvent)                     { <-b.let }
func (b blocker) ObserveRenew(lease.RenewEvent)             { <-b.let }
func (b blocker) Enabled(context.Context, slog.Level) bool  { return true }
func (b blocker) Handle(context.Context, slog.Record) error { <-b.let; return nil }
func (b blocker) WithAttrs([]slog.Attr) slog.Handler        { return b }
func (b blocker) WithGroup(string) slog.Handler             { return b }

func TestBlockedObserversDelayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		b := blocker{make(chan struct{})}
		let := make(chan struct{})
		alarms := 0
		set := mustSet(t, store, "a", Config{
			Status: store, Logger: slog.New(b), Observers: []any{b}, Backoff: Backoff{Min: time.Second, Max: time.Second},
			OnStuck: func(string, *Term) { alarms++; <-b.let },
		})
		mustStart(t, set,
			Spec{Key: "fails", Work: func(context.Context, *Term) error { return errWork }},
			Spec{Key: "good", Work: untilDrain},
			Spec{Key: "hangs", Work: func(context.Context, *Term) error { <-let; return nil }})
		s := begin(t, set.Run)
		set.StepDown("hangs")
		pass(time.Minute)
		if i, _ := set.Lookup("fails"); i.Failures < 50 {
			t.Errorf("%d failures in a minute, once a second", i.Failures)
		}
		if i, _ := set.Lookup("good"); i.State != Active || i.Restarts != 0 {
			t.Errorf("%+v", i)
		}
		if alarms != 1 {
			t.Error("OnStuck waited for an observer")
		}
		close(let)
		began := time.Now()
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 2*2*time.Second {
			t.Errorf("the stop took %v", took)
		}
		close(b.let)
		synctest.Wait()
	})
}

type panicker struct{}

func (panicker) ObserveState(StateEvent) { panic("observer") }

// Failure 29.
func TestPanickingObserverHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		r := mustRunner(t, store, "a", untilDrain, Config{Observers: []any{panicker{}, rec}})
		if err := begin(t, r.Run).stop(); err != nil {
			t.Error(err)
		}
		equal(t, "states", rec.path(), []State{Standby, Active, Draining, Stopped})
	})
}

func TestTheLogSaysTheTimingOnceAndThenWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		var text bytes.Buffer
		r := mustRunner(t, store, "a", func(context.Context, *Term) error { panic("oh") },
			Config{Restart: Never, Logger: slog.New(slog.NewTextHandler(&text, nil))})
		_ = begin(t, r.Run).wait()
		for _, want := range []string{
			`msg="runner started" owner=a restart=never backoffMin=1s backoffMax=1m0s`, `timing.drainTimeout=30s`, `msg="work started" key=job name=job token=`,
			`level=ERROR msg="work ended" key=job`, `end=panicked`, `error="tenure: work panicked: oh"`, `observe_test.go`, `msg="runner stopped"`,
		} {
			if n := strings.Count(text.String(), want); n != 1 {
				t.Errorf("%d times %s in\n%s", n, want, text.String())
			}
		}
	})
}

func TestTenThousandStartsBeforeRunLoseNoEvents(t *testing.T) {
	set := mustSet(t, newStore(t), "a", Config{Observers: []any{&recorder{}}})
	for i := range 10_000 {
		mustStart(t, set, Spec{Key: fmt.Sprint("job", i), Work: untilDrain})
	}
	if n := set.events.Dropped(); n != 0 {
		t.Errorf("%d dropped", n)
	}
}

func TestABurstLosesNoEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		set := mustSet(t, store, "a", Config{Observers: []any{rec}})
		n := long.Or(1500, 400)
		for i := range n {
			mustStart(t, set, Spec{Key: fmt.Sprint("job", i), Work: untilDrain})
		}
		if err := begin(t, set.Run).stop(); err != nil {
			t.Error(err)
		}
		if states, works := len(rec.states.get()), len(rec.works.get()); states != 4*n || works != n || set.events.Dropped() != 0 {
			t.Errorf("%d state events, %d ends, %d dropped", states, works, set.events.Dropped())
		}
	})
}
