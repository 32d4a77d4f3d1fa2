package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/tenure-go/tenure/sample/witness"
)

// screen shows a run to its viewer: as a live table on a terminal, as lines otherwise, or as JSON.
// It is safe for concurrent use, and whoever tells it something never waits for the viewer.
type screen struct {
	json  bool
	tty   bool
	out   *bufio.Writer
	errs  io.Writer
	zero  time.Time // when the shared clock read 0, for people
	wake  chan struct{}
	done  chan struct{}
	over  chan struct{}
	close func()

	interrupts chan struct{} // Ctrl-C, where the terminal sends it as a key

	mu     sync.Mutex
	events []witness.Event
	table  *table // nil: lines or JSON
}

func newScreen(o options, out, errs io.Writer) *screen {
	s := &screen{
		json: o.json, tty: terminal(out), out: bufio.NewWriter(out), errs: errs, zero: time.Now().Add(-time.Duration(witness.Now())),
		wake: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{}), interrupts: make(chan struct{}, 4),
	}
	s.close = sync.OnceFunc(func() {
		close(s.done)
		<-s.over
	})
	return s
}

// terminal reports whether out is one, and keys can be read from it.
func terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && term.IsTerminal(int(os.Stdin.Fd()))
}

// open begins to show. close ends it when everything told so far was shown.
func (s *screen) open(r *run) error {
	if s.tty && !s.json {
		t, err := newTable(r)
		if err != nil {
			s.close = func() {}
			return err
		}
		s.mu.Lock()
		s.table = t
		s.mu.Unlock()
		go s.loop(t.every(), func() { t.draw(s.out, s.take()) }, func() { s.leave(t) })
		return nil
	}
	go s.loop(nil, func() {
		for _, e := range s.take() {
			s.print(e)
		}
	}, func() {})
	return nil
}

// leave gives the terminal back.
func (s *screen) leave(t *table) {
	s.mu.Lock()
	s.table = nil
	s.mu.Unlock()
	t.close(s.out)
}

func (s *screen) loop(tick <-chan time.Time, show, end func()) {
	defer close(s.over)
	wake := s.wake
	if tick != nil {
		wake = nil // the table is drawn at its own pace
	}
	for {
		show()
		s.out.Flush()
		select {
		case <-wake:
		case <-tick:
		case <-s.done:
			show()
			end()
			s.out.Flush()
			return
		}
	}
}

// tell is the witness's listener.
func (s *screen) tell(e witness.Event) {
	s.mu.Lock()
	s.events = append(s.events, e)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *screen) take() []witness.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.events
	s.events = nil
	return events
}

// note shows a line that is no event: on the table, or on standard error.
func (s *screen) note(format string, args ...any) {
	fmt.Fprintf(s, format+"\n", args...)
}

// Write implements io.Writer for whole lines.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table != nil {
		s.table.note(strings.TrimSuffix(string(b), "\n"))
		return len(b), nil
	}
	return s.errs.Write(b)
}

// line is an event as it is printed.
type line struct {
	Time     string       `json:"time"`
	Pod      string       `json:"pod,omitempty"`
	Event    witness.Kind `json:"event"`
	Workload string       `json:"workload,omitempty"`
	Token    uint64       `json:"token,omitempty"`
}

func (s *screen) print(e witness.Event) {
	at := s.zero.Add(time.Duration(e.At))
	if s.json {
		s.encode(line{at.Format(time.RFC3339Nano), e.Pod, e.Kind, e.Workload, e.Token})
		return
	}
	fmt.Fprintln(s.out, describe(at, e))
}

func describe(at time.Time, e witness.Event) string {
	text := fmt.Sprintf("%s  %-7s %-9s", at.Format("15:04:05.000"), e.Pod, e.Kind)
	if e.Workload != "" {
		text += fmt.Sprintf(" %s  token %d", e.Workload, e.Token)
	}
	return strings.TrimRight(text, " ")
}

func (s *screen) encode(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs can always be encoded
	}
	s.out.Write(b)
	s.out.WriteByte('\n')
}

// summary shows the verdict. It is called after close.
func (s *screen) summary(v witness.Summary) {
	defer s.out.Flush()
	if s.json {
		s.encode(v)
		return
	}
	word := "one owner each, at every moment that was witnessed"
	if !v.Good() {
		word = "NOT HELD"
	}
	fmt.Fprintf(s.out, "\nverdict: %s\n", word)
	fmt.Fprintf(s.out, "  %d workloads and a singleton, %d pods, %d writes\n", v.Workloads, v.Pods, v.Writes)
	fmt.Fprintf(s.out, "  split brains          %d\n", v.SplitBrain)
	fmt.Fprintf(s.out, "  without an owner      %d\n", v.Unowned)
	fmt.Fprintf(s.out, "  stale writes refused  %d\n", v.StaleRefused)
	if v.Handovers > 0 {
		fmt.Fprintf(s.out, "  handovers             %d: median %.1f ms, 99%% within %.1f ms\n", v.Handovers, v.HandoverP50Ms, v.HandoverP99Ms)
	}
	if v.Failovers > 0 {
		fmt.Fprintf(s.out, "  failovers             %d: at most %.0f ms after the kill\n", v.Failovers, v.FailoverMaxMs)
	}
	if v.MovesPerWorkload != nil {
		fmt.Fprintf(s.out, "  rollout               %.2f moves per workload\n", *v.MovesPerWorkload)
	}
}
