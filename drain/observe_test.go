package drain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/drain"
)

type recorder struct {
	mu     sync.Mutex
	inside bool
	seen   []string
}

func (r *recorder) ObserveDrain(p drain.Progress) {
	r.mu.Lock()
	if r.inside {
		panic("two at a time")
	}
	r.inside = true
	r.seen = append(r.seen, fmt.Sprintf("%v done %v running %v drained %v", p.Elapsed.Round(100*time.Millisecond), p.Done, p.Running, p.Drained))
	r.mu.Unlock()
	time.Sleep(time.Millisecond) // slow enough to be caught overlapping
	r.mu.Lock()
	r.inside = false
	r.mu.Unlock()
}

func TestObserverHearsEachChangeOnce(t *testing.T) {
	for _, callers := range []int{1, 10} {
		synctest.Test(t, func(t *testing.T) {
			s := newSubject(map[string]time.Duration{"x": 2500 * time.Millisecond, "y": 5700 * time.Millisecond})
			r := &recorder{}
			var log bytes.Buffer
			cfg := drain.Config{Observers: []any{"no observer", r}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			d := newDrainer(t, cfg, s)
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					if err := d.Drain(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if want := []string{
				"0s done [] running [x y] drained false",
				"3s done [x] running [y] drained false",
				"5.7s done [x y] running [] drained true",
			}; !slices.Equal(r.seen, want) {
				t.Fatalf("%d callers: observed\n%s\nwant\n%s", callers, strings.Join(r.seen, "\n"), strings.Join(want, "\n"))
			}
			if n := strings.Count(log.String(), "msg="); n != 3 {
				t.Fatalf("%d lines of log:\n%s", n, log.String())
			}
		})
	}
}

func TestSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drain.Signal
		ch := s.Draining()
		select {
		case <-ch:
			t.Fatal("requested before the request")
		default:
		}
		equal(t, "the cause before", s.Cause(), nil)
		first := make(chan bool, 100)
		var all sync.WaitGroup
		for range cap(first) {
			all.Go(func() { first <- s.Request(drain.ErrTimeout) })
		}
		all.Wait()
		close(first)
		n := 0
		for f := range first {
			if f {
				n++
			}
		}
		equal(t, "the number of first requests", n, 1)
		<-ch
		s.RequestDrain()
		equal(t, "the cause", s.Cause(), drain.ErrTimeout)
		equal(t, "the channel", s.Draining(), ch)

		var asked drain.Signal
		var _ drain.Drainable = &asked
		asked.RequestDrain()
		<-asked.Draining() // made after the request
		equal(t, "the cause", asked.Cause(), drain.ErrDraining)
	})
}

// panicking is an observer and a log handler that panics at everything.
type panicking struct{ slog.Handler }

func (panicking) ObserveDrain(drain.Progress)               { panic("observer") }
func (panicking) Handle(context.Context, slog.Record) error { panic("handler") }
func (panicking) Enabled(context.Context, slog.Level) bool  { return true }

func TestPanicsOfObserversAndLogHandlersHarmNoDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(map[string]time.Duration{"x": 2 * time.Second})
		s.mark = func(context.Context) error { return errors.New("store down") }
		r := &recorder{}
		d := newDrainer(t, drain.Config{Observers: []any{panicking{}, r}, Logger: slog.New(panicking{slog.DiscardHandler}), Timeout: time.Second}, s)
		if err := d.Drain(t.Context()); !errors.Is(err, drain.ErrTimeout) {
			t.Errorf("got %v", err)
		}
		if err := d.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if len(r.seen) < 2 {
			t.Errorf("the next observer heard only %v", r.seen)
		}
	})
}
