package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenure-go/tenure/sample/witness"
)

// podEnv marks a process as a pod; see main.
const podEnv = "TENURE_SAMPLE_POD"

// process is a pod as its parent sees it.
type process struct {
	name  string
	cmd   *exec.Cmd
	lines chan string   // for its standard input
	gone  chan struct{} // closed once it has ended and was waited for

	// Guarded by the fleet's mutex.
	paused   bool
	draining bool
	ending   bool // it was killed or told to stop: its end is expected
}

// fleet starts and ends pods. It is safe for concurrent use.
type fleet struct {
	base    podConfig
	witness *witness.Witness
	notes   io.Writer // what pods and the fleet have to say beside events
	starts  chan func()

	mu      sync.Mutex
	pods    []*process // in order of their start; those that have ended are removed
	started int
	crashed int // ended without having been told to
	closed  bool
}

func newFleet(base podConfig, w *witness.Witness, notes io.Writer) *fleet {
	f := &fleet{base: base, witness: w, notes: notes, starts: make(chan func())}
	go f.starter()
	return f
}

// starter starts processes from one thread that lives as long as this process; see tie.
func (f *fleet) starter() {
	runtime.LockOSThread()
	for start := range f.starts {
		start()
	}
	select {} // the thread would end with this goroutine, and the pods with it
}

// Add starts a pod of the version and returns its name, which no other pod has had.
func (f *fleet) Add(version string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return "", errors.New("the fleet is shutting down")
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	cfg := f.base
	cfg.Name, cfg.Version = fmt.Sprintf("pod-%d", f.started+1), version
	line, err := json.Marshal(cfg)
	if err != nil {
		return "", err
	}
	p := &process{name: cfg.Name, cmd: exec.Command(exe), lines: make(chan string, 8), gone: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), podEnv+"=1")
	p.cmd.Stderr = &prefixed{to: f.notes, prefix: p.name + ": "}
	tie(p.cmd)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	done := make(chan error)
	f.starts <- func() { done <- p.cmd.Start() }
	if err := <-done; err != nil {
		return "", fmt.Errorf("start %s: %w", p.name, err)
	}
	f.started++
	f.pods = append(f.pods, p)
	p.tell(string(line))
	go f.watch(p)
	go p.write(stdin)
	return p.name, nil
}

// tell passes a line to the pod. There are only a few in its life: its configuration, drain and stop.
func (p *process) tell(line string) {
	select {
	case p.lines <- line:
	default: // it has not read the earlier ones, which said the same
	}
}

// write keeps the pod's standard input open for as long as it lives. A pipe may be full, so this
// is nobody's but its own goroutine.
func (p *process) write(stdin io.WriteCloser) {
	defer stdin.Close()
	for {
		select {
		case line := <-p.lines:
			_, _ = io.WriteString(stdin, line+"\n") // a pod that has ended does not hear it
		case <-p.gone:
			return
		}
	}
}

// watch waits for the pod's end.
func (f *fleet) watch(p *process) {
	err := p.cmd.Wait()
	at := witness.Now()
	f.mu.Lock()
	// One that ends well was told to: here, or by a drain mark in the store.
	expected := p.ending || err == nil
	if !expected {
		f.crashed++
	}
	f.pods = slices.DeleteFunc(f.pods, func(o *process) bool { return o == p })
	f.mu.Unlock()
	if !expected {
		fmt.Fprintf(f.notes, "%s ended by itself: %v\n", p.name, p.cmd.ProcessState)
		f.record(witness.Event{Kind: witness.Killed, Pod: p.name, At: at})
	}
	close(p.gone)
}

func (f *fleet) record(e witness.Event) {
	if e.At == 0 {
		e.At = witness.Now()
	}
	if err := f.witness.Record(e); err != nil {
		fmt.Fprintf(f.notes, "event %s: %v\n", e.Kind, err)
	}
}

// find returns a pod that has not ended and was not told to.
func (f *fleet) find(name string) *process {
	i := slices.IndexFunc(f.pods, func(p *process) bool { return p.name == name && !p.ending })
	if i < 0 {
		return nil
	}
	return f.pods[i]
}

// Active returns the pods that run and take work, oldest first.
func (f *fleet) Active() []string {
	return f.names(func(p *process) bool { return !p.paused && !p.draining && !p.ending })
}

// Stopped returns the paused pods.
func (f *fleet) Stopped() []string {
	return f.names(func(p *process) bool { return p.paused && !p.ending })
}

func (f *fleet) names(want func(*process) bool) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, p := range f.pods {
		if want(p) {
			out = append(out, p.name)
		}
	}
	return out
}

// Kill ends a pod as a crash does.
func (f *fleet) Kill(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.find(name)
	if p == nil {
		return nil
	}
	p.ending = true
	at := witness.Now() // before: nothing that the pod did later was before its death
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	f.record(witness.Event{Kind: witness.Killed, Pod: name, At: at})
	return nil
}

// Pause stops a pod in its tracks, as an overcommitted machine does, and Resume lets it go on.
func (f *fleet) Pause(name string) error { return f.freeze(name, true, pauseProcess, witness.Paused) }

// Resume lets a paused pod go on.
func (f *fleet) Resume(name string) error {
	return f.freeze(name, false, resumeProcess, witness.Resumed)
}

func (f *fleet) freeze(name string, paused bool, do func(*os.Process) error, kind witness.Kind) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.find(name)
	if p == nil || p.paused == paused {
		return nil
	}
	at := witness.Now()
	if err := do(p.cmd.Process); err != nil {
		return err
	}
	p.paused = paused
	f.record(witness.Event{Kind: kind, Pod: name, At: at})
	return nil
}

// Drain tells a pod to hand over what it has, to leave and to end. The channel is closed when it has.
func (f *fleet) Drain(name string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.find(name)
	if p == nil {
		gone := make(chan struct{})
		close(gone)
		return gone
	}
	p.draining = true
	p.tell(cmdDrain)
	return p.gone
}

// Shutdown tells every pod to wind down, and kills those that have not ended in time or when now is
// closed. It returns when no pod is left.
func (f *fleet) Shutdown(limit time.Duration, now <-chan struct{}) {
	for _, name := range f.Stopped() {
		if err := f.Resume(name); err != nil {
			fmt.Fprintf(f.notes, "resume %s: %v\n", name, err)
		}
	}
	f.mu.Lock()
	f.closed = true
	pods := slices.Clone(f.pods)
	for _, p := range pods {
		p.ending = true
		p.tell(cmdStop)
	}
	f.mu.Unlock()
	deadline := time.After(limit)
	for _, p := range pods {
		select {
		case <-p.gone:
			continue
		case <-deadline:
			fmt.Fprintf(f.notes, "%s did not wind down within %v: killed\n", p.name, limit)
		case <-now:
		}
		_ = p.cmd.Process.Kill() // it may have ended meanwhile
		<-p.gone
	}
	close(f.starts)
}

// Crashed returns how many pods have ended without having been told to.
func (f *fleet) Crashed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}

// prefixed writes whole lines, each behind a prefix.
type prefixed struct {
	to     io.Writer
	prefix string
	rest   string
}

// Write implements io.Writer.
func (w *prefixed) Write(b []byte) (int, error) {
	w.rest += string(b)
	for {
		line, rest, whole := strings.Cut(w.rest, "\n")
		if !whole {
			return len(b), nil
		}
		w.rest = rest
		if _, err := io.WriteString(w.to, w.prefix+line+"\n"); err != nil {
			return 0, err
		}
	}
}
