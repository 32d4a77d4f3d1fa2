package drain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Progress is how far a drain has come.
type Progress struct {
	// Began is when Drain was first called; zero where it was not.
	Began time.Time
	// Elapsed is the time since Began, up to the first look that found nothing running.
	Elapsed time.Duration
	// Drained: nothing runs here any more.
	Drained bool
	// Done are the keys that ran here when the drain began, or since, and have been let go; sorted.
	Done []string
	// Running are the keys that still run here, or whose lease is not yet let go; sorted.
	Running []string
	// MarkErr says why the mark could not be written in the store; nil where it was, or is being written.
	MarkErr error
}

// Observer is told of the begin of a drain, of each change of what still runs, and of its end. It is called
// from waiting calls of Drain, one at a time, and must return quickly. Where nobody waits, nobody looks.
type Observer interface{ ObserveDrain(Progress) }

// TimeoutError says that a drain took longer than Config.Timeout, and what still runs. It matches ErrTimeout.
type TimeoutError struct {
	After   time.Duration
	Running []string
}

// Error names the timeout and up to ten of the keys.
func (e *TimeoutError) Error() string {
	const most = 10
	names := make([]string, 0, most+1)
	for i, key := range e.Running {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(e.Running)-most))
			break
		}
		names = append(names, fmt.Sprintf("%q", key))
	}
	return fmt.Sprintf("%v: %d still running after %v: %s", ErrTimeout, len(e.Running), e.After, strings.Join(names, ", "))
}

// Is makes errors.Is(err, ErrTimeout) hold.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

// Progress returns how far the drain has come. It does no I/O.
func (d *Drainer) Progress() Progress {
	drained := d.drained() // before running: what is drained stays drained, and then nothing runs
	running := d.running()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.began.IsZero() {
		return Progress{Running: running}
	}
	d.note(running)
	if drained && d.took == 0 {
		d.took = max(1, time.Since(d.began))
	}
	p := Progress{Began: d.began, Elapsed: d.took, Drained: drained, Running: running}
	if !drained {
		p.Elapsed = time.Since(d.began)
	}
	if d.mark.failed() {
		p.MarkErr = d.mark.err
	}
	for _, key := range slices.Sorted(maps.Keys(d.seen)) {
		if !slices.Contains(running, key) {
			p.Done = append(p.Done, key)
		}
	}
	return p
}

func (d *Drainer) drained() bool {
	for _, s := range d.subjects {
		select {
		case <-s.Drained():
		default:
			return false
		}
	}
	return true
}

func (d *Drainer) running() (keys []string) {
	for _, s := range d.subjects {
		keys = append(keys, s.Running()...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// note remembers what was seen running since the drain began. The mutex is held.
func (d *Drainer) note(running []string) {
	for _, key := range running {
		d.seen[key] = true
	}
}

// report tells observers and the log what has changed since the last report. One caller reports at a
// time; the others do not wait for it.
func (d *Drainer) report() {
	select {
	case d.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-d.turn }()
	p := d.Progress()
	d.mu.Lock()
	last := d.reported
	d.reported = p
	d.mu.Unlock()
	if last.Began.Equal(p.Began) && last.Drained == p.Drained && slices.Equal(last.Running, p.Running) && slices.Equal(last.Done, p.Done) {
		return
	}
	safely(func() {
		if p.Drained {
			d.cfg.Logger.Info("drained", "done", p.Done, "elapsed", p.Elapsed)
		} else {
			d.cfg.Logger.Info("draining", "done", len(p.Done), "running", p.Running, "elapsed", p.Elapsed)
		}
	})
	for _, o := range d.observers {
		safely(func() { o.ObserveDrain(p) })
	}
}

// safely calls code of the user's, whose panic must end neither the drain nor the process.
func safely(f func()) {
	defer func() { _ = recover() }()
	f()
}
