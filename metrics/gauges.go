package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/runner"
)

// reading is one value of a gauge.
type reading struct {
	name   string
	value  float64
	labels []string
}

// Gauges calls yield with the present value of every series of every gauge. What is absent at present is left out.
func (o *Observer) Gauges(yield func(name string, value float64, labels ...string)) {
	o.mu.Lock()
	now := time.Now()
	all := slices.Concat(o.readLeases(now), o.readWork(now), o.readFleet(now))
	keyed := o.readKeys(now)
	o.mu.Unlock()
	for _, r := range all {
		yield(r.name, r.value, r.labels...)
	}
	slices.SortFunc(keyed, func(a, b keyReading) int { return strings.Compare(a.key, b.key) })
	for _, k := range keyed[:min(len(keyed), o.most)] {
		leads := 0.0
		if k.valid {
			leads = 1
			yield(termToken, float64(k.token), k.key)
			yield(termStart, float64(k.began.UnixMicro())/1e6, k.key)
		}
		yield(isLeader, leads, k.key)
	}
	yield(keysUnlisted, float64(max(len(keyed)-o.most, 0)))
}

// keyReading is what the series of one key tell.
type keyReading struct {
	key   string
	valid bool
	token uint64
	began time.Time
}

func (o *Observer) readKeys(now time.Time) []keyReading {
	out := make([]keyReading, 0, len(o.tracks))
	for key, t := range o.tracks {
		out = append(out, keyReading{key, o.valid(t, now), t.lease.Token, t.began})
	}
	return out
}

// valid reports whether a term is live and its deadline has not passed.
func (o *Observer) valid(t *track, now time.Time) bool {
	s := o.sessions[t.lease.Session]
	return t.live && s != nil && now.Before(s.until)
}

func (o *Observer) readLeases(now time.Time) (out []reading) {
	n, left, some := 0, time.Duration(0), false
	for _, s := range o.sessions {
		if s.terms == 0 {
			continue
		}
		l := max(s.until.Sub(now), 0)
		if l > 0 {
			n += s.terms
		}
		if !some || l < left {
			left, some = l, true
		}
	}
	out = append(out, reading{name: held, value: float64(n)})
	if some {
		out = append(out, reading{name: sessionLeft, value: left.Seconds()})
	}
	if o.seen {
		out = append(out, reading{name: incarnation, value: float64(o.inc)})
	}
	return out
}

func (o *Observer) readWork(now time.Time) []reading {
	states := map[runner.State]int{}
	for _, t := range o.tracks {
		states[t.state]++
	}
	running := states[runner.Active] + states[runner.Draining] + states[runner.Lost]
	out := []reading{{name: stuck, value: float64(len(o.stuck))}}
	for _, s := range []runner.State{runner.Standby, runner.Active, runner.Draining, runner.Lost} {
		out = append(out, reading{byState, float64(states[s]), []string{string(s)}})
	}
	begun, elapsed := 0.0, o.drain.Elapsed
	switch {
	case o.drain.Began.IsZero():
		running = 0
	case o.drain.Drained:
		begun, running = 1, 0
	default:
		begun, elapsed = 1, now.Sub(o.drain.Began)
	}
	return append(out, reading{name: drainBegun, value: begun}, reading{name: drainElapsed, value: elapsed.Seconds()},
		reading{name: drainRunning, value: float64(running)})
}

// readFleet tells nothing where no coordinator does.
func (o *Observer) readFleet(now time.Time) (out []reading) {
	f := &o.fleet
	if f.beaten {
		out = append(out, reading{members, float64(f.active), []string{"active"}},
			reading{members, float64(f.members - f.active), []string{"inactive"}})
	}
	n := 0
	for key := range f.ours {
		if t := o.tracks[key]; t != nil && o.valid(t, now) {
			n++
		}
	}
	if f.beaten {
		out = append(out, reading{name: catalogueHeld, value: float64(n)}, reading{name: assigned, value: float64(len(f.ours))})
	}
	if f.reigns {
		hold := 0.0
		if f.holding {
			hold = 1
		}
		out = append(out, reading{name: holding, value: hold})
	}
	if f.planned {
		out = append(out, reading{name: catalogue, value: float64(len(f.plan.Targets) + len(f.plan.Unplaceable))},
			reading{name: unplaceable, value: float64(len(f.plan.Unplaceable))})
	}
	return out
}
