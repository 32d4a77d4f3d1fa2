package metrics

import (
	"strings"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/runner"
)

// ObserveState implements runner.StateObserver.
func (o *Observer) ObserveState(e runner.StateEvent) {
	o.mu.Lock()
	t := o.track(e.Key)
	t.state = e.To
	measure := func() {}
	if e.To == runner.Active {
		t.active, t.activeToken = e.At, e.Token
		measure = o.started(t)
	}
	if e.To == runner.Stopped {
		delete(o.stuck, e.Key)
	}
	o.tidy(e.Key, t)
	o.mu.Unlock()
	measure()
}

// ObserveWork implements runner.WorkObserver.
func (o *Observer) ObserveWork(e runner.WorkEvent) {
	o.add(workEnded, strings.ReplaceAll(string(e.End), " ", "_"))
	if e.Forced {
		o.add(workForced)
	}
	if e.End == runner.EndStopped || e.End == runner.EndSteppedDown {
		o.phase(handover, "drain", e.WindDown-e.LetGo)
		o.phase(handover, "release", e.LetGo)
	}
}

// ObserveStuck implements runner.StuckObserver.
func (o *Observer) ObserveStuck(e runner.StuckEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e.Returned {
		delete(o.stuck, e.Key)
		return
	}
	o.stuck[e.Key] = struct{}{}
}

// ObserveStatus implements runner.StatusObserver.
func (o *Observer) ObserveStatus(e runner.StatusEvent) { o.call("PutStatus", e.Took, e.Err) }

// ObserveDrain implements drain.Observer.
func (o *Observer) ObserveDrain(p drain.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drain = p
}
