package health_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/health"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/tenuretest"
)

func jobs(n int) []coordinator.Workload[int] {
	var out []coordinator.Workload[int]
	for i := range n {
		out = append(out, coordinator.Workload[int]{Key: fmt.Sprintf("job-%d", i), Value: i})
	}
	return out
}

func open(t *testing.T, cfg health.Config, subjects ...health.Subject) *health.Health {
	t.Helper()
	h, err := health.New(cfg, subjects...)
	require.NoError(t, err)
	return h
}

func get(h http.Handler, header ...string) (code int, body string) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func is(t *testing.T, h http.Handler, code int, body string) {
	t.Helper()
	gotCode, got := get(h)
	assert.Equal(t, code, gotCode, got)
	assert.Equal(t, body, got)
}

func TestFollowersAreReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tenuretest.NewFleet(t, jobs(1), nil, tenuretest.FleetConfig{})
		f.Start("a", "b")
		time.Sleep(20 * time.Second)
		for _, id := range []instance.ID{"a", "b"} {
			h := open(t, health.Config{}, health.Coordinator(f.Coordinator(id)))
			is(t, h.Readyz(), 200, "ok coordinator\n")
			is(t, h.Livez(), 200, "ok coordinator\n")
		}
		assert.Len(t, f.Owners(), 1, "one of them holds nothing")
	})
}

// stopping is a clock whose timers do not fire while it stands, so that no loop turns.
type stopping struct {
	clock.Clock
	mu     sync.Mutex
	stands bool
	timers []*timer
}

type timer struct {
	clock.Timer
	s *stopping
}

func (s *stopping) NewTimer(d time.Duration) clock.Timer {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &timer{s.Clock.NewTimer(d), s}
	s.timers = append(s.timers, t)
	return t
}

func (t *timer) Reset(d time.Duration) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.s.stands {
		d = time.Hour
	}
	t.Timer.Reset(d)
}

// stop makes it stand, or lets it go on.
func (s *stopping) stop(stands bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stands = stands
	for _, t := range s.timers {
		if !stands {
			t.Timer.Reset(1)
		}
	}
}

// A loop that stands still is noticed after the grace, and forgiven when it goes on.
// Failure 77.
func TestWedge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.New(memory.Config{})
		require.NoError(t, err)
		time.Sleep(time.Second)
		stands := &stopping{Clock: clock.Or(nil)}
		c, err := coordinator.New(store, jobs(2), func(ctx context.Context, term *runner.Term, _ int) error {
			select {
			case <-term.Draining():
				return nil
			case <-ctx.Done(): // its lease is lost while the loop stands still
				return context.Cause(ctx)
			}
		}, coordinator.Config{Clock: stands})
		require.NoError(t, err)
		h := open(t, health.Config{Grace: 20 * time.Second}, health.Coordinator(c))
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		time.Sleep(time.Minute)
		is(t, h.Livez(), 200, "ok coordinator\n")

		stands.stop(true)
		is(t, h.Livez(), 200, "ok coordinator\n")
		time.Sleep(30 * time.Second)
		code, body := get(h.Livez())
		assert.Equal(t, 503, code)
		assert.Contains(t, body, "failed coordinator: wedged: its loop has not turned for ")
		stands.stop(false)
		time.Sleep(5 * time.Second)
		is(t, h.Livez(), 200, "ok coordinator\n")
		stop()
		require.NoError(t, <-ended)
	})
}

func TestLoopThatDoesNotTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := time.Now()
		h := open(t, health.Config{}, health.Coordinator(fake(func() coordinator.Snapshot {
			return coordinator.Snapshot{Running: true, Beat: coordinator.BeatInfo{LastErrAt: last}, Timing: lease.Timing{HeartbeatTTL: 10 * time.Second}}
		})))
		is(t, h.Livez(), 200, "ok coordinator\n")
		time.Sleep(30 * time.Second)
		is(t, h.Livez(), 200, "ok coordinator\n")
		time.Sleep(time.Second)
		is(t, h.Livez(), 503, "failed coordinator: wedged: its loop has not turned for 31s\n")
	})
}

// A store that is away is no reason to restart anybody, nor to stop serving.
func TestStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tenuretest.NewFleet(t, jobs(4), nil, tenuretest.FleetConfig{})
		f.Start("a")
		time.Sleep(20 * time.Second)
		h := open(t, health.Config{}, health.Coordinator(f.Coordinator("a")))
		f.Cut("a")
		time.Sleep(10 * time.Minute)
		is(t, h.Livez(), 200, "ok coordinator\n")
		is(t, h.Readyz(), 200, "ok coordinator\n")
	})
}

func TestReadyFromTheFirstHeartbeatToTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.New(memory.Config{})
		require.NoError(t, err)
		release := make(chan struct{})
		c, err := coordinator.New(store, jobs(1), func(ctx context.Context, _ *runner.Term, _ int) error {
			<-release
			return nil
		}, coordinator.Config{})
		require.NoError(t, err)
		h := open(t, health.Config{}, health.Coordinator(c))
		is(t, h.Readyz(), 503, "failed coordinator: it does not run\n")
		is(t, h.Livez(), 200, "ok coordinator\n")
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		time.Sleep(5 * time.Second)
		is(t, h.Readyz(), 200, "ok coordinator\n")
		stop()
		time.Sleep(time.Second)
		is(t, h.Readyz(), 503, "failed coordinator: it was told to stop\n")
		close(release)
		require.NoError(t, <-ended)
		is(t, h.Readyz(), 503, "failed coordinator: it does not run\n")
		is(t, h.Livez(), 200, "ok coordinator\n")
	})
}

func TestNotJoined(t *testing.T) {
	h := open(t, health.Config{}, health.Coordinator(fake(func() coordinator.Snapshot {
		return coordinator.Snapshot{Running: true, Beat: coordinator.BeatInfo{LastErr: errors.New("refused\nthere"), LastErrAt: time.Now()}}
	})))
	is(t, h.Readyz(), 503, "failed coordinator: it has not joined its fleet yet: refused there\n")
}

func TestDrainIsASwitchOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tenuretest.NewFleet(t, jobs(4), nil, tenuretest.FleetConfig{})
		f.Start("a", "b")
		time.Sleep(20 * time.Second)
		plain := open(t, health.Config{}, health.Coordinator(f.Coordinator("a")))
		flips := open(t, health.Config{UnreadyOnDrain: true}, health.Coordinator(f.Coordinator("a")))
		is(t, flips.Readyz(), 200, "ok coordinator\n")
		f.Drain("a")
		is(t, plain.Readyz(), 200, "ok coordinator\n")
		is(t, flips.Readyz(), 503, "failed coordinator: it is draining\n")
		is(t, flips.Livez(), 200, "ok coordinator\n")

		begun := make(chan struct{})
		alone := open(t, health.Config{UnreadyOnDrain: true, Draining: begun})
		is(t, alone.Readyz(), 200, "ok drain\n")
		close(begun)
		is(t, alone.Readyz(), 503, "failed drain: it has begun\n")
		is(t, open(t, health.Config{Draining: begun}).Readyz(), 200, "ok\n")
	})
}

func TestStuckWorkIsReported(t *testing.T) {
	c := fake(func() coordinator.Snapshot {
		s := coordinator.Snapshot{Running: true, Beat: coordinator.BeatInfo{LastOK: time.Now()}, Timing: lease.Timing{HeartbeatTTL: time.Second}}
		for _, key := range []string{"a", "b", "c", "d"} {
			s.Workloads = append(s.Workloads, coordinator.WorkloadInfo{Key: key, Runner: runner.Info{Stuck: true}})
		}
		return s
	})
	is(t, open(t, health.Config{}, health.Coordinator(c)).Livez(), 200, "ok coordinator (its work ignores its cancellation: a, b, c and 1 more)\n")
	is(t, open(t, health.Config{FailOnStuck: true}, health.Coordinator(c)).Livez(), 503, "failed coordinator: its work ignores its cancellation: a, b, c and 1 more\n")
}

func TestRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.New(memory.Config{})
		require.NoError(t, err)
		r, err := runner.New(store, "me", runner.Spec{Key: "nightly", Work: func(ctx context.Context, term *runner.Term) error {
			<-term.Draining()
			return nil
		}}, runner.Config{})
		require.NoError(t, err)
		h := open(t, health.Config{}, health.Runner(r))
		is(t, h.Readyz(), 200, "ok runner nightly\n")
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(5 * time.Second)
		require.True(t, r.Held())
		is(t, h.Livez(), 200, "ok runner nightly\n")
		stop()
		require.NoError(t, <-ended)

		// A session that has ended under terms that live on: nobody turns the loop that should end them.
		w := open(t, health.Config{}, health.Runner(stands{}))
		is(t, w.Livez(), 200, "ok runner k\n")
		time.Sleep(31 * time.Second)
		is(t, w.Livez(), 503, "failed runner k: wedged for 31s: its session has ended, and 2 terms were not\n")
	})
}

// stands is a runner whose loop stands still.
type stands struct{}

func (stands) Info() runner.Info       { return runner.Info{Key: "k", State: runner.Active} }
func (stands) LeaseState() lease.State { return lease.State{Held: 2} }

// fake is a coordinator that says what the test wants.
type fake func() coordinator.Snapshot

func (f fake) Snapshot() coordinator.Snapshot { return f() }

// An engine that does not answer at all is given the same grace.
// Failure 77.
func TestDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hangs := false
		h := open(t, health.Config{Grace: 10 * time.Second}, health.Coordinator(fake(func() coordinator.Snapshot {
			if hangs {
				<-release
			}
			return coordinator.Snapshot{Running: true, Beat: coordinator.BeatInfo{LastOK: time.Now()}, Timing: lease.Timing{HeartbeatTTL: time.Second}}
		})))
		is(t, h.Livez(), 200, "ok coordinator\n")
		hangs = true
		is(t, h.Livez(), 200, "ok coordinator\n")
		is(t, h.Readyz(), 503, "failed coordinator: it does not say how it is within 1s\n")
		time.Sleep(15 * time.Second)
		is(t, h.Livez(), 503, "failed coordinator: wedged for 17s: it does not say how it is within 1s\n")
		close(release)
	})
}

func TestOwnChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails error
		cfg := health.Config{
			ReadyChecks: []health.Check{{"database", func(context.Context) error { return fails }}},
			LiveChecks: []health.Check{
				{"slow", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }},
				{"broken", func(context.Context) error { panic("no") }},
			},
		}
		h := open(t, cfg)
		is(t, h.Readyz(), 200, "ok database\n")
		require.NoError(t, h.Ready(t.Context()))
		fails = errors.New("no connection")
		is(t, h.Readyz(), 503, "failed database: no connection\n")
		require.EqualError(t, h.Ready(t.Context()), "database: no connection")
		fails = nil
		h.SetUnready("maintenance")
		is(t, h.Readyz(), 503, "failed switch: maintenance\nok database\n")
		h.SetUnready("")
		is(t, h.Readyz(), 200, "ok database\n")
		err := h.Live(t.Context())
		require.ErrorContains(t, err, "slow: no answer within 1s")
		require.ErrorContains(t, err, "broken: ")
	})
}

func TestAnswers(t *testing.T) {
	h := open(t, health.Config{ReadyChecks: []health.Check{{"x", func(context.Context) error { return errors.New("y") }}}})
	code, body := get(h.Readyz(), "Accept", "application/json")
	assert.Equal(t, 503, code)
	var r health.Report
	require.NoError(t, json.Unmarshal([]byte(body), &r))
	assert.Equal(t, health.Report{Checks: []health.Result{{Name: "x", Why: "y"}}}, r)
	_, body = get(open(t, health.Config{}).Livez(), "Accept", "application/json")
	assert.JSONEq(t, `{"ok":true,"checks":[]}`, body)
	w := httptest.NewRecorder()
	h.Livez().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	assert.Equal(t, 405, w.Code)
}

func TestWrongConfiguration(t *testing.T) {
	check := func(context.Context) error { return nil }
	for want, f := range map[string]func() error{
		"Config.Timeout":        func() error { _, err := health.New(health.Config{Timeout: 1}); return err },
		"Config.Grace":          func() error { _, err := health.New(health.Config{Grace: 1}); return err },
		"Config.LiveChecks[0]":  func() error { _, err := health.New(health.Config{LiveChecks: []health.Check{{"", check}}}); return err },
		"Config.ReadyChecks[0]": func() error { _, err := health.New(health.Config{ReadyChecks: []health.Check{{"x", nil}}}); return err },
		"subjects[0]":           func() error { _, err := health.New(health.Config{}, nil); return err },
	} {
		err := f()
		require.ErrorIs(t, err, lease.ErrInvalid)
		assert.ErrorContains(t, err, want)
	}
}
