package runner

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/status"
)

var errWork = errors.New("work failed")

func TestRestartPolicies(t *testing.T) {
	for _, c := range []struct {
		policy Restart
		result error
		starts int // within a minute of backoff 1 s to 1 s
		err    error
		state  State
	}{
		{OnFailure, nil, 1, nil, Stopped},
		{OnFailure, errWork, 3, nil, Stopped},
		{Always, nil, 3, nil, Stopped},
		{Always, errWork, 3, nil, Stopped},
		{Never, nil, 1, nil, Stopped},
		{Never, errWork, 1, errWork, Stopped},
	} {
		name := c.policy.String() + ", nil"
		if c.result != nil {
			name = c.policy.String() + ", error"
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				starts := 0
				r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
					if starts++; starts == 3 {
						return untilDrain(ctx, term)
					}
					time.Sleep(time.Second)
					return c.result
				}, Config{Restart: c.policy, Status: store})
				s := begin(t, r.Run)
				pass(time.Minute)
				var err error
				if c.starts == 1 {
					err = s.wait() // by itself
				} else {
					err = s.stop()
				}
				if starts != c.starts || !errors.Is(err, c.err) || c.err == nil && err != nil {
					t.Errorf("%d starts, Run: %v", starts, err)
				}
				if r.State() != c.state {
					t.Errorf("state %v", r.State())
				}
				if held, _ := store.Leases(t.Context()); len(held) != 0 {
					t.Errorf("not released: %v", held)
				}
				if all, _ := store.AllStatuses(t.Context()); len(all) > 0 && all[0].State != status.Inactive {
					t.Errorf("status %+v", all)
				}
			})
		})
	}
}

// Failure 47.
func TestFailedWorkLetsGoAndBacksOffWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		var starts, ends []time.Time
		backoff := Backoff{Min: time.Second, Max: 10 * time.Second}
		long := 0
		r := mustRunner(t, store, "a", func(ctx context.Context, term *Term) error {
			starts = append(starts, time.Now())
			defer func() { ends = append(ends, time.Now()) }()
			if len(starts) == 500 {
				long = len(starts)
				pass(time.Minute) // a good run
			}
			return errWork
		}, Config{Backoff: backoff})
		s := begin(t, r.Run)
		pass(3 * time.Second / 10)
		if i := r.Info(); i.State != Standby || !i.ContendsAt.After(time.Now()) || i.LastErr != errWork {
			t.Errorf("while it backs off: %+v", i)
		}
		if held, _ := store.Leases(t.Context()); len(held) != 0 {
			t.Errorf("held while it backs off: %v", held)
		}
		for r.Info().Failures < 1000 {
			pass(time.Minute)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		for i := range 999 {
			n := i + 1
			if n >= long {
				n -= long - 1
			}
			most := backoff.Max
			if n < 10 {
				most = min(most, backoff.Min<<(n-1))
			}
			if wait := starts[i+1].Sub(ends[i]); wait < most/2 || wait > most+10*time.Millisecond {
				t.Fatalf("wait %d is %v, want %v to %v", i+1, wait, most/2, most)
			}
		}
	})
}

// Failure 47.
func TestBackoffStaysBetweenHalfAndAll(t *testing.T) {
	b := Backoff{Min: time.Second, Max: time.Minute}
	for n := 1; n < 1000; n++ {
		most := b.Max
		if n < 7 {
			most = b.Min << (n - 1)
		}
		if low, high := b.wait(n, 0), b.wait(n, 0.999999); low != most/2 || high > most || high < most*9/10 {
			t.Fatalf("wait %d: %v to %v, want %v to %v", n, low, high, most/2, most)
		}
	}
}

func TestSomebodyElseMayTakeTheKeyOfFailingWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		a := mustRunner(t, store, "a", func(context.Context, *Term) error { return errWork }, Config{})
		b := mustRunner(t, store, "b", untilDrain, Config{})
		sa := begin(t, a.Run)
		sb := begin(t, b.Run)
		pass(time.Minute)
		if !b.Held() || a.Held() {
			t.Error("b, which works, does not hold the key")
		}
		if a.Info().Holder != "b" {
			t.Errorf("holder %q", a.Info().Holder)
		}
		if err := errors.Join(sa.stop(), sb.stop()); err != nil {
			t.Error(err)
		}
	})
}

func TestPanicIsAFailureWithItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		r := mustRunner(t, store, "a", func(context.Context, *Term) error { panic(errWork) },
			Config{Restart: Never, Observers: []any{rec}, Status: store})
		err := begin(t, r.Run).wait()
		var p *PanicError
		if !errors.As(err, &p) || !errors.Is(err, errWork) || !strings.Contains(string(p.Stack), "policy_test.go") {
			t.Errorf("Run: %v", err)
		}
		if w := rec.works.get(); len(w) != 1 || w[0].End != EndPanicked {
			t.Errorf("%+v", w)
		}
		all, _ := store.AllStatuses(t.Context())
		if len(all) != 1 || all[0].Info != "tenure: work panicked: work failed" {
			t.Errorf("status %+v", all)
		}
	})
}

func TestPanicWhileCancelledIsStillAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", func(ctx context.Context, _ *Term) error { <-ctx.Done(); panic(ctx.Err()) }, Config{Restart: Never})
		var p *PanicError
		if err := begin(t, r.Run).stop(); !errors.As(err, &p) {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestGoexitIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", func(context.Context, *Term) error { runtime.Goexit(); return nil }, Config{Restart: Never})
		if err := begin(t, r.Run).wait(); err != ErrExited {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestErrorsOtherThanTheCancellationAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		rec := &recorder{}
		r := mustRunner(t, store, "a", func(ctx context.Context, _ *Term) error { <-ctx.Done(); return errWork },
			Config{Restart: Never, Observers: []any{rec}})
		if err := begin(t, r.Run).stop(); err != errWork {
			t.Errorf("Run: %v", err)
		}
		if w := rec.works.get()[0]; w.Err != errWork || w.End != EndStopped || !w.Forced {
			t.Errorf("%+v", w)
		}
	})
}

func TestWorkMaySayThatItWasDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		r := mustRunner(t, store, "a", func(_ context.Context, term *Term) error {
			<-term.Draining()
			return drain.ErrDraining
		}, Config{Restart: Never})
		s := begin(t, r.Run)
		if left := r.LeaseState(); left.Held != 1 || left.Left != 9*time.Second {
			t.Errorf("%+v", left)
		}
		if err := s.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestCancellationByItselfIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		// Nobody cancelled it: the error is the work's own, of some call of its own.
		r := mustRunner(t, store, "a", func(context.Context, *Term) error { return context.Canceled }, Config{Restart: Never})
		if err := begin(t, r.Run).wait(); err != context.Canceled {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestLastWordsAreOneShortCleanLine(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "info"},
		{errors.New("first\nsecond"), "first"},
		{errors.New("bad \xff and \x00"), "bad ? and ?"},
		{errors.New(strings.Repeat("é", 400)), strings.Repeat("é", 250) + "..."},
	} {
		if got := lastWords("info", c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
