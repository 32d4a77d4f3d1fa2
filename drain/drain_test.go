package drain_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
)

// subject is what a coordinator is to a Drainer: once told, each key winds down in its time.
type subject struct {
	takes map[string]time.Duration // how long each key takes from the begin of the drain

	mu      sync.Mutex
	told    int
	mark    func(context.Context) error // the write of the mark; nil succeeds at once
	running map[string]bool
	drained chan struct{}
}

func newSubject(takes map[string]time.Duration) *subject {
	s := &subject{takes: takes, running: map[string]bool{}, drained: make(chan struct{})}
	for key := range takes {
		s.running[key] = true
	}
	return s
}

func (s *subject) BeginDrain(ctx context.Context) error {
	s.mu.Lock()
	s.told++
	if s.told == 1 {
		for key, d := range s.takes {
			time.AfterFunc(d, func() { s.finish(key) })
		}
		if len(s.takes) == 0 {
			close(s.drained)
		}
	}
	mark := s.mark
	s.mu.Unlock()
	if mark != nil {
		return mark(ctx)
	}
	return nil
}

func (s *subject) finish(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, key)
	if len(s.running) == 0 {
		close(s.drained)
	}
}

func (s *subject) Running() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.running)) // in no order, and that must not matter
}

func (s *subject) Drained() <-chan struct{} { return s.drained }

func (s *subject) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}

func newDrainer(t *testing.T, cfg drain.Config, subjects ...drain.Subject) *drain.Drainer {
	t.Helper()
	d, err := drain.New(cfg, subjects...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}

func sameKeys(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s are %q, want %q", what, got, want)
	}
}

func TestNewChecksItsArguments(t *testing.T) {
	for name, f := range map[string]func() (*drain.Drainer, error){
		"Timeout":  func() (*drain.Drainer, error) { return drain.New(drain.Config{Timeout: -1}, newSubject(nil)) },
		"Interval": func() (*drain.Drainer, error) { return drain.New(drain.Config{Interval: -1}, newSubject(nil)) },
		"subjects": func() (*drain.Drainer, error) { return drain.New(drain.Config{}) },
		"nil":      func() (*drain.Drainer, error) { return drain.New(drain.Config{}, newSubject(nil), nil) },
	} {
		if _, err := f(); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestDrainWaitsUntilNothingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newSubject(map[string]time.Duration{"x": 20 * time.Second, "y": 5 * time.Second})
		b := newSubject(map[string]time.Duration{"z": 7 * time.Second, "x": time.Second}) // x is in both
		d := newDrainer(t, drain.Config{}, a, b)
		start := time.Now()
		before := d.Progress()
		sameKeys(t, "what runs before", before.Running, "x", "y", "z")
		equal(t, "the begin before", before.Began, time.Time{})
		equal(t, "told before", a.times()+b.times(), 0)
		select {
		case <-d.Draining():
			t.Fatal("draining before the call")
		default:
		}
		time.AfterFunc(6*time.Second, func() {
			p := d.Progress()
			sameKeys(t, "what is done on the way", p.Done, "y")
			sameKeys(t, "what runs on the way", p.Running, "x", "z")
			equal(t, "elapsed on the way", p.Elapsed, 6*time.Second)
		})
		if err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-d.Draining()
		equal(t, "the time it took", time.Since(start), 20*time.Second)
		time.Sleep(time.Hour)
		p := d.Progress()
		sameKeys(t, "what was done", p.Done, "x", "y", "z")
		sameKeys(t, "what runs after", p.Running)
		if !p.Drained || p.Elapsed != 20*time.Second || !p.Began.Equal(start) || p.MarkErr != nil {
			t.Fatalf("progress is %+v", p)
		}
		if err := d.Drain(t.Context()); err != nil { // later calls find it done
			t.Fatal(err)
		}
		equal(t, "told", a.times(), 1)
	})
}

func TestNothingRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrainer(t, drain.Config{}, newSubject(nil))
		start := time.Now()
		if err := d.Drain(t.Context()); err != nil || time.Since(start) != 0 {
			t.Fatal(err, time.Since(start))
		}
		equal(t, "drained", d.Progress().Drained, true)
	})
}

func TestConcurrentCallersJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(map[string]time.Duration{"x": 10 * time.Second})
		s.mark = func(context.Context) error { time.Sleep(time.Second); return nil }
		d := newDrainer(t, drain.Config{}, s)
		start := time.Now()
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				if err := d.Drain(t.Context()); err != nil {
					t.Error(err)
				}
				equal(t, "the time of the end", time.Since(start), 10*time.Second)
			})
		}
		all.Wait()
		equal(t, "told", s.times(), 1)
	})
}

func TestTimeoutNamesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(map[string]time.Duration{"slow": time.Hour, "quick": time.Second})
		d := newDrainer(t, drain.Config{Timeout: 30 * time.Second}, s)
		start := time.Now()
		err := d.Drain(t.Context())
		equal(t, "the time it took", time.Since(start), 30*time.Second)
		var timeout *drain.TimeoutError
		if !errors.As(err, &timeout) || !errors.Is(err, drain.ErrTimeout) {
			t.Fatalf("error is %v", err)
		}
		sameKeys(t, "what still runs", timeout.Running, "slow")
		if want := `tenure: drain timeout: 1 still running after 30s: "slow"`; err.Error() != want {
			t.Fatalf("error reads %q, want %q", err, want)
		}
		// Another call waits on, for a time of its own; the drain was never interrupted.
		time.Sleep(time.Hour - 40*time.Second)
		if err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "the time of the end", time.Since(start), time.Hour)
		equal(t, "told", s.times(), 1)
	})
}

// A drain that ends at the very moment of the timeout is a drain that ended.
func TestTimeoutAtTheEndOfTheDrain(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			d := newDrainer(t, drain.Config{Timeout: 10 * time.Second}, newSubject(map[string]time.Duration{"x": 10*time.Second - 1}))
			if err := d.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestTimeoutErrorIsBounded(t *testing.T) {
	e := &drain.TimeoutError{After: time.Second, Running: slices.Repeat([]string{"key"}, 1000)}
	if s := e.Error(); len(s) > 200 || !strings.Contains(s, "1000 still running") || !strings.HasSuffix(s, "and 990 more") {
		t.Fatal(s)
	}
}

func TestCallerGoesAwayAndTheDrainGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(map[string]time.Duration{"x": 10 * time.Second})
		marked := false
		s.mark = func(ctx context.Context) error {
			select {
			case <-time.After(3 * time.Second):
				marked = true
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		d := newDrainer(t, drain.Config{}, s)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		start := time.Now()
		if err := d.Drain(ctx); !errors.Is(err, gone) || errors.Is(err, drain.ErrTimeout) {
			t.Fatalf("error is %v", err)
		}
		equal(t, "the time it took", time.Since(start), time.Second)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		p := d.Progress()
		if !marked || !p.Drained || p.MarkErr != nil {
			t.Fatalf("marked is %v, progress %+v", marked, p)
		}
	})
}

func TestEndedContextBeginsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(map[string]time.Duration{"x": time.Second})
		d := newDrainer(t, drain.Config{}, s)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Drain(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("error is %v", err)
		}
		synctest.Wait()
		equal(t, "told", s.times(), 0)
	})
}

// The store is down: the mark fails, the instance drains, and the next call tries the mark again.
func TestFailedMarkStillDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(map[string]time.Duration{"x": 8 * time.Second})
		s.mark = func(context.Context) error { return lease.ErrUnavailable }
		d := newDrainer(t, drain.Config{Timeout: 5 * time.Second}, s)
		if err := d.Drain(t.Context()); !errors.Is(err, drain.ErrTimeout) {
			t.Fatalf("error is %v", err)
		}
		if p := d.Progress(); !errors.Is(p.MarkErr, lease.ErrUnavailable) {
			t.Fatalf("progress is %+v", p)
		}
		s.mu.Lock()
		s.mark = nil
		s.mu.Unlock()
		if err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "told", s.times(), 2)
		equal(t, "the mark's error", d.Progress().MarkErr, nil)
	})
}

// A write that hangs and ignores its context holds up neither the other subjects nor, beyond five seconds,
// the caller.
func TestHangingMarkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hangs := newSubject(map[string]time.Duration{"x": time.Second})
		hangs.mark = func(context.Context) error { <-release; return nil }
		other := newSubject(map[string]time.Duration{"y": 2 * time.Second})
		d := newDrainer(t, drain.Config{}, hangs, other)
		start := time.Now()
		if err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "the time it took", time.Since(start), 5*time.Second)
		p := d.Progress()
		sameKeys(t, "what was done", p.Done, "x", "y")
		if !errors.Is(p.MarkErr, lease.ErrUnavailable) {
			t.Fatalf("the mark's error is %v", p.MarkErr)
		}
		close(release)
	})
}

// Where only the mark is late, the timeout is no failure: nothing runs here.
func TestTimeoutOfTheMarkAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(map[string]time.Duration{"x": time.Second})
		s.mark = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		d := newDrainer(t, drain.Config{Timeout: 3 * time.Second}, s)
		start := time.Now()
		if err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "the time it took", time.Since(start), 3*time.Second)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if p := d.Progress(); !errors.Is(p.MarkErr, context.DeadlineExceeded) {
			t.Fatalf("progress is %+v", p)
		}
	})
}
