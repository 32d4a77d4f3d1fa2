package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/tenure-go/tenure/sample/witness"
)

// table is the live view on a terminal. Its loop alone draws; notes may come from anywhere, under the
// screen's mutex.
type table struct {
	run   *run
	began witness.Stamp
	keys  chan byte
	old   *term.State
	tick  *time.Ticker
	lines []string // the newest events and notes
}

const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // alternate screen, no cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearRest   = "\x1b[J"
	bold        = "\x1b[1m"
	dim         = "\x1b[2m"
	red         = "\x1b[31m"
	plain       = "\x1b[0m"
)

// newTable takes the terminal over.
func newTable(r *run) (*table, error) {
	old, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	t := &table{run: r, began: witness.Now(), keys: make(chan byte, 16), old: old, tick: time.NewTicker(100 * time.Millisecond)}
	go readKeys(t.keys, r.screen.interrupts)
	r.screen.out.WriteString(enterScreen)
	return t, nil
}

func (t *table) every() <-chan time.Time { return t.tick.C }

// close gives the terminal back.
func (t *table) close(out *bufio.Writer) {
	t.tick.Stop()
	out.WriteString(leaveScreen)
	_ = term.Restore(int(os.Stdin.Fd()), t.old) // nothing can be done about it
}

const mostNotes = 50

func (t *table) note(text string) {
	t.lines = append(t.lines, text)
	if len(t.lines) > mostNotes {
		t.lines = t.lines[len(t.lines)-mostNotes:]
	}
}

// draw paints one picture.
func (t *table) draw(out *bufio.Writer, events []witness.Event) {
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || width < 20 || height < 10 {
		width, height = 80, 24
	}
	s := t.run.screen
	s.mu.Lock()
	for _, e := range events {
		if e.Workload == "" || e.Kind == witness.Lost {
			t.note(describe(s.zero.Add(time.Duration(e.At)), e))
		}
	}
	notes := t.lines
	s.mu.Unlock()

	page := t.head()
	const foot = 2
	recent := min(6, max(height-len(page)-foot-10, 2))
	page = append(page, t.workloads(width, height-len(page)-recent-foot-1)...)
	page = append(page, "")
	for i := max(len(notes)-recent, 0); i < len(notes); i++ {
		page = append(page, dim+cut(notes[i], width)+plain)
	}
	for len(page) < height-1 {
		page = append(page, "")
	}
	page = append(page[:height-1], bold+cut("k kill -9   d drain   a add   p pause, resume   q quit with a verdict", width)+plain)
	out.WriteString(home)
	for i, l := range page {
		out.WriteString(l + clearLine)
		if i < len(page)-1 {
			out.WriteString("\r\n")
		}
	}
	out.WriteString(clearRest)
}

// head is the verdict so far, and the pods.
func (t *table) head() []string {
	v := t.run.witness.Summary()
	age := witness.Now().Sub(t.began).Truncate(time.Second)
	verdict := fmt.Sprintf("split brains %d", v.SplitBrain)
	if v.SplitBrain > 0 {
		verdict = red + verdict + plain + bold
	}
	page := []string{
		fmt.Sprintf("%sTenure sample%s  %v   lease TTL %v   seed %d", bold, plain, age, t.run.options.timing.LeaseTTL, t.run.options.seed),
		fmt.Sprintf("%s%s   unowned %d   writes %d   stale writes refused %d%s", bold, verdict, v.Unowned, v.Writes, v.StaleRefused, plain),
		fmt.Sprintf("handovers %d, median %.1f ms   failovers %d, slowest %.0f ms", v.Handovers, v.HandoverP50Ms, v.Failovers, v.FailoverMaxMs),
	}
	if t.run.page != nil {
		page = append(page, "page "+t.run.page.URL)
	}
	page = append(page, "")
	var pods strings.Builder
	for _, p := range t.run.witness.Pods() {
		fmt.Fprintf(&pods, "%s%s %s%s %d   ", colour(p.Name), p.Name, p.State, plain, p.Runs)
	}
	return append(page, pods.String(), "")
}

// Widths of a workload's cell beside its name: owner, token, state, age, each behind a space.
const (
	besideName = 1 + 7 + 1 + 16 + 1 + 8 + 1 + 5
	gap        = 3 // between cells
)

// workloads lays the owners out in as many columns as are needed and fit.
func (t *table) workloads(width, height int) []string {
	owners := t.run.witness.Owners()
	name := 8
	for _, o := range owners {
		name = max(name, min(len([]rune(o.Workload)), 30))
	}
	name = max(min(name, width-besideName), 8)
	rows := max(height-1, 1)
	columns := min(max((width+gap)/(name+besideName+gap), 1), (len(owners)+rows-1)/rows)
	heading := fmt.Sprintf("%s %-7s %-16s %-8s %5s", pad("WORKLOAD", name), "OWNER", "TOKEN", "STATE", "AGE")
	out := []string{dim + strings.Repeat(heading+strings.Repeat(" ", gap), columns) + plain}
	now := witness.Now()
	for row := range min(rows, len(owners)) {
		var l strings.Builder
		for i := row; i < min(len(owners), columns*rows); i += rows {
			if hidden := len(owners) - i; i == columns*rows-1 && hidden > 1 {
				fmt.Fprintf(&l, "... and %d more", hidden)
				break
			}
			l.WriteString(cell(owners[i], name, now) + strings.Repeat(" ", gap))
		}
		out = append(out, l.String())
	}
	return out
}

func cell(o witness.Owner, name int, now witness.Stamp) string {
	start, age := colour(o.Pod), ""
	if !o.Owned() {
		start = red
	}
	if o.Since > 0 && o.Owned() {
		age = short(now.Sub(o.Since))
	}
	return fmt.Sprintf("%s %s%-7s%s %-16d %-8s %5s", pad(o.Workload, name), start, cut(o.Pod, 7), plain, o.Token, o.State, age)
}

// short writes an age in at most five characters for the first four days.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02d", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02d", int(d.Hours()), int(d.Minutes())%60)
}

// colour gives each pod one of six colours by its number.
func colour(pod string) string {
	n := 0
	for _, c := range pod {
		if c >= '0' && c <= '9' {
			n = n*10 + int(c-'0')
		}
	}
	return fmt.Sprintf("\x1b[%dm", []int{36, 32, 33, 35, 34, 96}[n%6])
}

// cut shortens s to width and takes out what a terminal would obey.
func cut(s string, width int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
	if r := []rune(s); len(r) > width {
		return string(r[:width])
	}
	return s
}

func pad(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", width-len([]rune(s)))
}
