package health

import (
	"fmt"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// Subject is an engine under watch. Make one with Coordinator or Runner.
type Subject interface {
	// look says how the engine is. It may hang, where the engine does.
	look() sight
}

// sight is what one look at an engine shows.
type sight struct {
	name string
	// beats says that the loop tells when it turned last, by this machine's clock: at turned, zero before the first time.
	beats  bool
	turned time.Time
	// still says that the loop stands still at this moment, as far as can be seen without a time.
	still string
	// limit is after how long without a turn the loop is wedged, where the configuration does not say.
	limit    time.Duration
	running  bool
	unready  string // why it is not ready; empty where it is
	draining bool
	stuck    []string // keys whose work ignores its cancellation
}

// Coordinator watches a *coordinator.Coordinator.
func Coordinator(c interface{ Snapshot() coordinator.Snapshot }) Subject { return watched{c} }

type watched struct {
	c interface{ Snapshot() coordinator.Snapshot }
}

func (w watched) look() sight {
	s := w.c.Snapshot()
	v := sight{
		name: "coordinator", limit: graceOf(s.Timing), running: s.Running, draining: s.Draining,
		beats: true, turned: later(s.Beat.LastOK, s.Beat.LastErrAt), // heartbeats are tried on and on, whatever the store answers
	}
	switch {
	case s.Leaving:
		v.unready = "it was told to stop"
	case !s.Running:
		v.unready = "it does not run"
	case s.Beat.LastOK.IsZero() && s.Beat.LastErr != nil:
		v.unready = fmt.Sprintf("it has not joined its fleet yet: %v", s.Beat.LastErr)
	case s.Beat.LastOK.IsZero():
		v.unready = "it has not joined its fleet yet"
	}
	for _, i := range s.Workloads {
		if i.Runner.Stuck {
			v.stuck = append(v.stuck, i.Key)
		}
	}
	v.still = overdue(s.Lease)
	return v
}

// Runner watches a *runner.Runner. It is ready from the start: a runner that waits for its turn, or whose work is
// finished, is as ready as one that leads.
func Runner(r interface {
	Info() runner.Info
	LeaseState() lease.State
}) Subject {
	return watchedRunner{r}
}

type watchedRunner struct {
	r interface {
		Info() runner.Info
		LeaseState() lease.State
	}
}

func (w watchedRunner) look() sight {
	info, state := w.r.Info(), w.r.LeaseState()
	v := sight{name: "runner " + info.Key, running: info.State != runner.Stopped, still: overdue(state)}
	if info.Stuck {
		v.stuck = []string{info.Key}
	}
	if v.still == "" && info.State == runner.Active && info.Left == 0 {
		v.still = "its term has passed, and its work was not told"
	}
	return v
}

// overdue tells that a session has ended and its terms have not: the loop that ends them stands still.
func overdue(s lease.State) string {
	if s.Held > 0 && s.Left == 0 {
		return fmt.Sprintf("its session has ended, and %d terms were not", s.Held)
	}
	return ""
}

// graceOf is how long a loop in order may seem to stand still: three lives of a heartbeat, so that a machine
// that was overloaded or asleep for a while is not restarted for it.
func graceOf(t lease.Timing) time.Duration { return 3 * t.HeartbeatTTL }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
